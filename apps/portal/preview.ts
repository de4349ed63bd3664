import type { Organization } from '@medplum/fhirtypes';
import { addressGroups } from '../../packages/web/address-group.ts';
import { html } from '../../packages/web/html.ts';
import { clinicOf } from './clinic/clinic.ts';
import { clockOf } from './clinic/clock.ts';
import { payersOf } from './clinic/services.ts';
import { isRefusal } from './fhir/client.ts';
import type { Visit } from './http/visit.ts';
import { layout } from './pages/layout.ts';
import { servicesPage } from './pages/services.ts';
import { createPortal, type PortalOptions } from './portal.ts';
import { noSession } from './session/session.ts';
import { isLanguage, sayIn, textsOf } from './texts/texts.ts';
import { formValues } from './visit/form.ts';

/** A presentation of the clinic that is not stored yet. */
interface Shown {
  readonly organization: Organization;
  readonly language: string;
  readonly bring: string | undefined;
  readonly ip: string;
}

/** Renders the portal's first page, consent text and instructions with a presentation that is not stored. */
export function clinicPage(options: PortalOptions): (shown: Shown) => Promise<string> {
  const portal = createPortal(options, () => undefined);
  return async ({ organization, language, bring, ip }) => {
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
    const clinic = clinicOf([organization], options.extensions.clinic ?? '');
    const { id, name, logo, consent } = clinic ?? {};
    const main = html`${page.kind === 'page' && page.body}
${consent && html`<p><label><input type="checkbox"> ${consent}</label></p>`}
${bring && html`<h2>${texts.appointment.notes}</h2><p class="notes">${bring}</p>`}`;
    const shown = { ...clinic, name: name ?? options.clinic, phone: clinic?.phone };
    // Links and forms get a new window as target, which the sandboxed frame of the preview blocks. It may not run
    // scripts either.
    const markup = layout(visit, { title: texts.services.title, body: main }, shown)
      .replace('<head>', '<head><base target="_blank">')
      .replaceAll(/<script\b.*?<\/script>/gs, '');
    // A logo that is not stored has no URL yet.
    const address = `<img src="${options.path}/pictures/Organization/${id}?v=${logo?.version}"`;
    const data = logo && `<img src="data:${logo.mediaType};base64,${logo.bytes.toString('base64')}"`;
    return data ? markup.replace(address, data) : markup;
  };
}
