#!/bin/sh
# Serves a model to other machines. Who may use it stands in a file of keys; the first start makes
# one key, and prints it once.
set -eu
keys="${PROTORYNET_KEYS:-/keys/keys.json}"
if [ ! -e "$keys" ]; then
    echo "The key of scope 'edit', which is not shown again:"
    protorynet keys create --scope edit --name first "$keys"
fi
exec protorynet serve "$@" --host 0.0.0.0 --port "${PORT:-8000}" --keys "$keys"
