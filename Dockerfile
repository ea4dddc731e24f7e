# syntax=docker/dockerfile:1

FROM node:26-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY scripts ./scripts
COPY docs ./docs
COPY packages/conformance ./packages/conformance
RUN npm run build

FROM node:26-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts

FROM node:26-slim
ENV NODE_ENV=production HOST=0.0.0.0 DATABASE_URL=sqlite:/data/latchkey.db
# The only folder that the service writes to. The rest of the file system may be read-only.
RUN install --directory --owner=node --group=node --mode=0700 /data
COPY --from=dependencies /app/node_modules /app/node_modules
COPY --from=build /app/dist /app/dist
COPY package.json /app/
COPY migrations /app/migrations
# Without SMTP_URL, mails are written to data/mail, below the working folder.
WORKDIR /
USER node
VOLUME /data
EXPOSE 8000
# /heartbeat checks the process only: a restart does not help while the database is unavailable. /ready reports that.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 8000}/heartbeat`).then((response) => process.exit(response.ok ? 0 : 1), () => process.exit(1))"]
# Without a shell, so that signals reach the process.
ENTRYPOINT ["node", "--max-semi-space-size=4", "/app/dist/cli/latchkey.js"]
CMD ["serve"]
