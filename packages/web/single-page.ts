import helmet from '@fastify/helmet';
import type { FastifyPluginAsync } from 'fastify';
import { type Assets, serveAssets } from './assets.ts';
import { html, icon } from './html.ts';
import { caching, type PageRights, securityHeaders } from './security.ts';

/** A single-page application: every route serves the same page, and its script chooses the view. */
interface SinglePage {
  readonly title: string;
  readonly assets: Assets;
  readonly rights: PageRights;
  /** Route of the application, for example `/front-desk`. */
  readonly path: string;
  /** Public settings for the script, as `data-` attributes of `<html>`. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly routes?: FastifyPluginAsync;
}

function shell({ title, assets, path, settings = {} }: SinglePage): string {
  const { script, style } = assets.page();
  const attributes = Object.entries(settings).map(([name, value]) => html` data-${name}="${value}"`);
  return html`<!doctype html>
<html lang="en"${attributes}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${icon}
<title>${title}</title>
${style && html`<link rel="stylesheet" href="${path}/assets/${style}">`}
<script type="module" src="${path}/assets/${script}"></script>
</head>
<body><div id="root"></div><noscript>${title}: JavaScript is switched off in this browser. <span lang="de">JavaScript ist in diesem Browser abgeschaltet.</span></noscript></body>
</html>`.text;
}

/** Serves a single-page application and its files. */
export function singlePage(options: SinglePage): FastifyPluginAsync {
  return async (scope) => {
    await scope.register(helmet, securityHeaders(options.rights));
    await serveAssets(scope, options.assets);
    if (options.routes) {
      await scope.register(options.routes);
    }
    for (const url of ['/', '/*']) {
      scope.get(url, async (_request, reply) =>
        reply.header('cache-control', caching.checked).type('text/html; charset=utf-8').send(shell(options)),
      );
    }
  };
}
