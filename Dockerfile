# The image of the gateway: one static binary on nothing else.
#
#   docker build -t carrel --build-arg VERSION=v1.2.3 .
#
# `make image-check` runs these steps without Docker.

FROM --platform=$BUILDPLATFORM node:20.20.2-bookworm-slim AS web
WORKDIR /src/clients/npm
COPY clients/npm/package.json clients/npm/package-lock.json clients/npm/.npmrc ./
RUN npm ci
COPY clients ../
RUN npm run build
WORKDIR /src/web
COPY web/package.json web/package-lock.json web/.npmrc ./
RUN npm ci
COPY web ./
RUN npm run build

FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm AS binary
ARG TARGETOS
ARG TARGETARCH
ARG VERSION
ARG REVISION
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . ./
COPY --from=web /src/web/dist web/dist
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH VERSION=$VERSION REVISION=$REVISION .ci/compile image/carrel
RUN mkdir image/data

FROM scratch
LABEL org.opencontainers.image.title="Carrel" \
      org.opencontainers.image.description="A GraphQL gateway for libraries of shared content"
COPY --from=binary /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=binary /src/image/carrel /carrel
COPY --from=binary --chown=65532:65532 /src/image/data /data
USER 65532:65532
VOLUME /data
ENV CARREL_LISTEN=0.0.0.0:8080 \
    CARREL_STORE=pebble:/data/store
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/carrel", "health"]
ENTRYPOINT ["/carrel"]
CMD ["serve"]
