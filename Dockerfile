# The demo's model, served: docker build -t protorynet . && docker run -p 127.0.0.1:8000:8000 protorynet
# Another model: docker run … -v "$PWD/model:/srv/model:ro" protorynet /srv/model
FROM python:3.12-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PROTORYNET_CACHE=/tmp/cache
RUN python -m venv /opt/protorynet
ENV PATH=/opt/protorynet/bin:$PATH
# Without a GPU the image is far smaller with --build-arg PIP_EXTRA_INDEX_URL=… of torch's CPU builds.
ARG PIP_EXTRA_INDEX_URL
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN pip install -c constraints.txt '.[demo,excel,server]'
RUN protorynet demo -o /srv/demo

FROM python:3.12-slim
ENV PATH=/opt/protorynet/bin:$PATH PROTORYNET_CACHE=/tmp/cache
COPY --from=build /opt/protorynet /opt/protorynet
COPY --from=build /srv/demo /srv/demo
COPY deploy/start.sh deploy/healthy.py /usr/local/lib/protorynet/
RUN useradd --system --create-home --uid 10001 protorynet && mkdir /keys \
    && chown -R protorynet /keys /srv
USER protorynet
VOLUME /keys
EXPOSE 8000
HEALTHCHECK --start-period=60s --interval=30s --timeout=5s CMD ["python", "/usr/local/lib/protorynet/healthy.py"]
ENTRYPOINT ["sh", "/usr/local/lib/protorynet/start.sh"]
CMD ["/srv/demo/model"]
