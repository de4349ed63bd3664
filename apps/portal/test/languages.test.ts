/** Every language says everything that English says. */
import { describe, expect, test } from '@jest/globals';
import { languages, sayIn, textsOf } from '../texts/texts.ts';
import { aBrowser, bundle, withPortal } from './installed.ts';

type Tree = { readonly [key: string]: string | Tree };

const isText = (value: string | Tree): value is string => typeof value === 'string';

/** The names in braces of each text; plural forms are one text, and each may spell out its number. */
function namesIn(tree: Tree, path = ''): [string, string][] {
  const isPlural = isText(tree.one ?? {}) || (isText(tree.other ?? {}) && isText(tree.few ?? {}));
  const forms = isPlural ? Object.entries(tree) : [];
  if (forms.length > 0) {
    const all = forms.flatMap(([, text]) => (isText(text) ? text.match(/\{\w+\}/g) : null) ?? []);
    return [[path, [...new Set([...all, '{number}'])].toSorted().join()]];
  }
  return Object.entries(tree).flatMap(([key, value]): [string, string][] =>
    isText(value)
      ? [[`${path}.${key}`, (value.match(/\{\w+\}/g) ?? []).toSorted().join()]]
      : namesIn(value, `${path}.${key}`),
  );
}

describe.each(languages)('%s', (language) => {
  const texts = textsOf[language];

  test('has every text of English, with the same names in braces, and says it in words of its own', () => {
    expect(Object.fromEntries(namesIn(texts))).toEqual(Object.fromEntries(namesIn(textsOf.en)));
    expect(JSON.stringify(texts)).not.toMatch(/""|\{\}/);
    const same = Object.entries(texts.refusals).filter(([key, text]) => text === Object(textsOf.en.refusals)[key]);
    expect(same).toHaveLength(language === 'en' ? 14 : 0);
    expect(texts.language).toBe(language);
  });

  test('has each plural form of its locale, and writes numbers with its digits', () => {
    const { pluralCategories } = new Intl.PluralRules(texts.locale).resolvedOptions();
    for (const plural of [texts.times.free, texts.services.others, texts.details.minutes, texts.appointment.linkNote]) {
      expect(Object.keys(plural)).toEqual(expect.arrayContaining(pluralCategories));
    }
    const say = sayIn(texts.locale);
    expect(say(texts.details.minutes, { number: 21 })).toContain(language === 'ar' ? '٢١' : '21');
    expect(say(texts.times.at, { time: 'T', day: 'D' })).toMatch(/^T. D$/);
  });
});

test('plural forms follow the rules of the language', () => {
  const minutes = (language: (typeof languages)[number], number: number) =>
    sayIn(textsOf[language].locale)(textsOf[language].details.minutes, { number });
  expect([1, 3, 5, 21].map((number) => minutes('uk', number))).toEqual([
    '1 хвилина',
    '3 хвилини',
    '5 хвилин',
    '21 хвилина',
  ]);
  expect([2, 3].map((number) => minutes('ar', number))).toEqual(['دقيقتان', '٣ دقائق']);
});

test('what a clinic has translated is shown in the language of the visitor, plain German included', async () => {
  const inGerman = (content: string) => ({
    extension: [
      {
        url: 'http://hl7.org/fhir/StructureDefinition/translation',
        extension: [
          { url: 'lang', valueCode: 'de' },
          { url: 'content', valueString: content },
        ],
      },
    ],
  });
  const type = [{ coding: [{ system: 'urn:s', code: 'c', display: 'Visit' }] }];
  const { app } = await withPortal({}, (clinic) => {
    clinic.get('/fhir/R4/HealthcareService', async () =>
      bundle({ resourceType: 'HealthcareService', id: 'h', type, name: 'Check-up', _name: inGerman('Vorsorge') }),
    );
    clinic.get('/fhir/R4/Schedule', async () =>
      bundle({
        resourceType: 'Schedule',
        id: 's',
        serviceType: type,
        actor: [
          { reference: 'HealthcareService/h' },
          { reference: 'Practitioner/p', display: 'Dr. A, eyes', _display: inGerman('Dr. A, Augen') },
        ],
      }),
    );
  });
  const { send, cookies } = aBrowser(app, '192.0.2.9');
  for (const [language, name, doctor] of [
    ['en', 'Check-up', 'Dr. A, eyes'],
    ['de', 'Vorsorge', 'Dr. A, Augen'],
    ['de-simple', 'Vorsorge', 'Dr. A, Augen'],
    ['tr', 'Check-up', 'Dr. A, eyes'],
  ] as const) {
    cookies.set('portal_language', language);
    const { body } = await send('/portal/');
    expect([body.includes(`<span class="name">${name}</span>`), body.includes(doctor)]).toEqual([true, true]);
  }
});
