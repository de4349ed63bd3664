import type { FastifyPluginAsync } from 'fastify';
import { addressGroups } from '../../../core/address-group.ts';
import { isObject } from '../../../core/fhir/resource.ts';
import { html } from '../../../packages/web/html.ts';
import { caching } from '../../../packages/web/security.ts';
import { clinicOf } from '../../portal/clinic/clinic.ts';
import { clockOf } from '../../portal/clinic/clock.ts';
import { payersOf } from '../../portal/clinic/services.ts';
import { isRefusal } from '../../portal/fhir/client.ts';
import type { Visit } from '../../portal/http/visit.ts';
import { layout } from '../../portal/pages/layout.ts';
import { servicesPage } from '../../portal/pages/services.ts';
import { createPortal, type PortalOptions } from '../../portal/portal.ts';
import { noSession } from '../../portal/session/session.ts';
import { isLanguage, sayIn, textsOf } from '../../portal/texts/texts.ts';
import { formValues } from '../../portal/visit/form.ts';
import { emptyPresentation, maxLength, withPresentation } from './presentation.ts';

const longest: ReadonlyMap<string, number> = new Map(Object.entries({ ...maxLength, language: 20 }));

/** The texts of a request; what is missing is empty. `undefined` if there is anything else, or more of it. */
function typedIn(body: unknown): Readonly<Record<string, string>> | undefined {
  const values = Object.entries(isObject(body) && !Array.isArray(body) ? body : { nothing: undefined });
  return values.every(
    (entry): entry is [string, string] =>
      typeof entry[1] === 'string' && entry[1].length <= (longest.get(entry[0]) ?? -1),
  )
    ? Object.fromEntries(values)
    : undefined;
}

/**
 * `POST /clinic-preview`: the first page of the portal as patients would see it if a presentation of the clinic were stored, and
 * below what they read elsewhere: what they agree to, and what to bring (`bring`). Everything is checked and escaped as in the
 * portal itself; nothing is stored.
 */
export function clinicPreview(options: PortalOptions): FastifyPluginAsync {
  return async (scope) => {
    const portal = createPortal(options, () => undefined);
    scope.post('/clinic-preview', async ({ body, ip }, reply) => {
      const typed = typedIn(body);
      if (!typed) {
        return reply.code(400).send({ problem: 'Send an object of texts of the clinic, none longer than it may be.' });
      }
      const { language = '', bring } = typed;
      const texts = textsOf[isLanguage(language) ? language : 'en'];
      const now = portal.now();
      const visit: Visit = {
        portal,
        texts,
        say: sayIn(texts.locale),
        clock: clockOf(options.timeZone, texts.locale),
        session: noSession,
        at: now,
        url: `${options.path}/`,
        query: formValues(''),
        form: formValues(''),
        id: '',
        draft: undefined,
        link: '',
        visitor: addressGroups(ip),
        isScript: false,
        isEmbedded: false,
      };
      const found = await portal.services();
      const services = isRefusal(found) ? [] : found;
      const page = servicesPage(visit, services, payersOf(services));
      const url = options.extensions.clinic ?? '';
      const organization = withPresentation(
        { resourceType: 'Organization', id: 'preview' },
        { ...emptyPresentation, ...typed },
        url,
      );
      const clinic = clinicOf([organization], url);
      const { id, name, logo, consent } = clinic ?? {};
      const main = html`${page.kind === 'page' && page.body}
${consent && html`<p><label><input type="checkbox"> ${consent}</label></p>`}
${bring && html`<h2>${texts.appointment.notes}</h2><p class="notes">${bring}</p>`}`;
      const shown = { ...clinic, name: name ?? options.clinic, phone: clinic?.phone };
      // Its links and forms would open windows, which a frame without rights may not; nor may it run scripts.
      const markup = layout(visit, { title: texts.services.title, body: main }, shown)
        .replace('<head>', '<head><base target="_blank">')
        .replaceAll(/<script\b.*?<\/script>/gs, '');
      // What is not stored has no address yet.
      const address = `<img src="${options.path}/pictures/Organization/${id}?v=${logo?.version}"`;
      const data = logo && `<img src="data:${logo.mediaType};base64,${logo.bytes.toString('base64')}"`;
      return reply
        .header('cache-control', caching.personal)
        .send({ page: data ? markup.replace(address, data) : markup });
    });
  };
}
