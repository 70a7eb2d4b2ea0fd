# daybook as an image: docker build -t daybook . && docker run --env-file settings.env daybook schedule
FROM node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20 AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# With the packages that only some settings need, which package.json has as optional peers.
RUN npm pkg delete devDependencies peerDependenciesMeta && npm install

FROM node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="daybook" \
      org.opencontainers.image.description="Keeps an integrator's proven copy of a payments-platform ledger and turns it into daily statements" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.base.name="docker.io/library/node:24.21.0-bookworm-slim"
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY src ./src
COPY jobs ./jobs
COPY sql ./sql
COPY config ./config
# The embedded database and statements, where no DATABASE_URL and STATEMENTS_URL are given: mount a volume here.
RUN ln -s /app/src/main.ts /usr/local/bin/daybook && mkdir -m 700 /data && chown node:node /data
ENV DAYBOOK_DATA_DIR=/data
# Where `serve` listens; put a proxy that ends TLS in front. Pages for people have an address of their own, DAYBOOK_PAGES_LISTEN.
ENV DAYBOOK_LISTEN=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["node", "/app/src/cli/health-check.ts"]
USER node
# Node itself is process 1, so that SIGTERM reaches it and a run ends at a window's edge.
ENTRYPOINT ["node", "/app/src/main.ts"]
CMD ["schedule"]
