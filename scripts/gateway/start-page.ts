import { readFileSync } from 'node:fs';
import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';
import { html, icon } from '../../packages/web/html.ts';
import { type Language, languages, preferredLanguage } from '../../packages/web/language.ts';
import { caching, securityHeaders } from '../../packages/web/security.ts';

/** A link to an application, in each language. */
export interface WayIn {
  /** Path of the application, for example `/portal/`. */
  readonly path: string;
  /** Page that the link opens, below the path. */
  readonly opens?: string;
  readonly title: Readonly<Record<Language, string>>;
  readonly description: Readonly<Record<Language, string>>;
}

interface StartOptions {
  readonly ways: readonly WayIn[];
  /** Public FHIR base address of the service. */
  readonly baseUrl: string;
  readonly isSecure: boolean;
}

const texts = {
  en: {
    title: 'Appointment booking',
    interface: 'The FHIR interface for portals',
    documentation: 'what it can do (CapabilityStatement)',
  },
  de: {
    title: 'Terminbuchung',
    interface: 'Die FHIR-Schnittstelle für Portale',
    documentation: 'was sie kann (CapabilityStatement)',
  },
} satisfies Record<Language, object>;

const style = readFileSync(new URL('start-page.css', import.meta.url), 'utf8');

function startPage(language: Language, { ways, baseUrl }: StartOptions): string {
  const words = texts[language];
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${icon}
<title>${words.title}</title>
<link rel="stylesheet" href="/start.css">
</head>
<body>
<main>
<h1>${words.title}</h1>
<ul>
${ways.map(({ path, opens, title, description }) => html`<li><a href="${path}${opens}">${title[language]}</a>${description[language]}</li>`)}
</ul>
<p>${words.interface}: <code>${baseUrl}</code>; <a href="${baseUrl}/metadata">${words.documentation}</a></p>
</main>
</body>
</html>`.text;
}

/** Serves `/`: the links to the applications. */
export async function serveStart(scope: FastifyInstance, options: StartOptions): Promise<void> {
  await scope.register(helmet, securityHeaders(options));
  scope.get('/', async (request, reply) =>
    reply
      .headers({ 'cache-control': caching.checked, vary: 'accept-language' })
      .type('text/html; charset=utf-8')
      .send(startPage(preferredLanguage(request.headers['accept-language'], languages) ?? 'en', options)),
  );
  scope.get('/start.css', async (_request, reply) =>
    reply.header('cache-control', caching.checked).type('text/css; charset=utf-8').send(style),
  );
}
