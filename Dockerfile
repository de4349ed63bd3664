# Two images from one file: the gateway (default), and `--target deploy` for the scripts that set up a Medplum project.
FROM node:24.21.0-bookworm-slim AS base
ENV NODE_ENV=production
WORKDIR /app
COPY package.json package-lock.json ./

# The scripts need everything: esbuild to bundle the Bots, the command line to deploy them.
FROM base AS deploy
COPY packages/sandbox/package.json packages/sandbox/
COPY packages/conformance/package.json packages/conformance/
COPY packages/web/package.json packages/web/
COPY apps/assistants/package.json apps/assistants/
COPY apps/front-desk/package.json apps/front-desk/
COPY apps/portal/package.json apps/portal/
RUN npm ci --include=dev --ignore-scripts --no-audit --no-fund
COPY --chown=node:node . .
RUN chown node:node /app
USER node
CMD ["node", "scripts/booking.ts", "deploy"]

FROM deploy AS web
RUN node scripts/booking.ts build:web

FROM base AS libraries
RUN npm ci --omit=dev --no-workspaces --ignore-scripts --no-audit --no-fund

FROM base AS gateway
COPY --from=libraries /app/node_modules node_modules
COPY core core
COPY bots bots
COPY gateway gateway
COPY apps apps
COPY packages/web packages/web
COPY --from=web /app/dist/web dist/web
COPY scripts/gateway.ts scripts/gateway.ts
COPY scripts/cli/command.ts scripts/cli/command.ts
COPY scripts/cli/load-config.ts scripts/cli/load-config.ts
COPY scripts/gateway scripts/gateway
COPY scripts/start/settings.ts scripts/start/settings.ts
COPY booking.config.json ./
# Where the clone was made under a strict umask, others than root could not read it.
RUN chmod -R a+rX core bots gateway apps packages dist scripts *.json
USER node
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT ?? 8080) + '/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "scripts/gateway.ts"]
