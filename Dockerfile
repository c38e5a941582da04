# One image for every command of Kinfold: docker run kinfold COMMAND FLAGS.
#
# Node runs the sources as they are, so nothing is built but what npm installs. The version of Node is the one that tests run
# with (scripts/node/package.json). A tag can be moved, so the digest of its index, which is of all platforms, decides; it
# is updated by hand, since it has no later fixes of Debian's either (docs/operate/deploy.md).
# Only the folders below are writable, and in a container with a read-only root they have to be mounted: /var/lib/kinfold
# (data) and /var/cache/kinfold (compiled code; without it starts take longer, and nothing else).

FROM node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20 AS modules
WORKDIR /opt/kinfold
COPY package.json package-lock.json ./
# Among the packages of development is another Node, for machines that have none.
RUN npm ci --omit=dev --no-audit --no-fund

FROM node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20
# What only people at work need would only be another thing to patch.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn-* \
      /usr/local/bin/yarn /usr/local/bin/yarnpkg \
 && install -d -o 65532 -g 65532 -m 0700 /var/lib/kinfold /var/lib/playground /var/cache/kinfold \
 && ln -s /opt/kinfold/cli/main.ts /usr/local/bin/kinfold
WORKDIR /opt/kinfold
COPY --from=modules /opt/kinfold/node_modules ./node_modules
COPY package.json LICENSE ./
COPY schemas ./schemas
COPY core ./core
COPY ports ./ports
COPY runtime ./runtime
COPY adapters ./adapters
COPY services ./services
COPY playground ./playground
COPY cli ./cli
COPY web/deletion-text.ts ./web/
COPY web/base/text.ts ./web/base/
# What only a release knows is added by who makes it: source, revision, created (.github/workflows/release.yml).
LABEL org.opencontainers.image.title="kinfold" \
      org.opencontainers.image.description="Event-sourced, multi-cluster garbage collector for Kubernetes-style APIs, and the record of who owned what" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="docker.io/library/node:24.21.0-bookworm-slim"
ENV NODE_ENV=production \
    HOME=/var/lib/kinfold \
    XDG_DATA_HOME=/var/lib \
    XDG_CACHE_HOME=/var/cache
# By its number, so that Kubernetes can see that it is not root.
USER 65532:65532
ENTRYPOINT ["node", "/opt/kinfold/cli/main.ts"]
CMD ["--help"]
# Of `up` and `graph` where they listen by default; another address is an argument, or KINFOLD_SERVER.
HEALTHCHECK --interval=10s --timeout=10s --start-period=60s --retries=3 \
  CMD ["node", "/opt/kinfold/cli/ready.ts"]
