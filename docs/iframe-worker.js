// Pages that are read from disk may start no worker, and the search of the site runs in one: there
// a hidden frame takes its place.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.onload = () => this.start(url)
      document.body.append(this.frame)
    }
    start(url) {
      const inner = this.frame.contentWindow
      addEventListener("message", ({ source, data }) => {
        if (source !== inner) return
        const event = new MessageEvent("message", { data })
        this.onmessage?.(event)
        this.dispatchEvent(event)
      })
      inner.eval("window.postMessage = (data) => parent.postMessage(data, '*')")
      const script = inner.document.createElement("script")
      script.src = url
      script.onload = () => {
        const waiting = this.waiting
        this.waiting = null
        waiting.forEach((data) => this.postMessage(data))
      }
      this.frame.onload = null
      inner.document.body.append(script)
    }
    postMessage(data) {
      if (this.waiting) return void this.waiting.push(data)
      const inner = this.frame.contentWindow
      inner.dispatchEvent(new inner.MessageEvent("message", { data }))
    }
    terminate() {
      this.frame.remove()
    }
  }
