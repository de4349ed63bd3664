/** The page to which the link in a message leads. */
import { expect, test } from '@jest/globals';
import type { Parameters } from '@medplum/fhirtypes';
import { aBrowser, bundle, withPortal } from './installed.ts';

let answers: readonly string[] = [];
const coding = { system: 'urn:s', code: 'gp', display: 'Consultation' };
const schedule = {
  resourceType: 'Schedule',
  id: 'c',
  active: true,
  serviceType: [{ coding: [coding] }],
  actor: [{ reference: 'Practitioner/p', display: 'Dr. A' }],
};
const [start, end] = [90, 91].map((hours) => new Date(Date.now() + hours * 3_600_000).toISOString());
const slot = { resourceType: 'Slot', id: 's', status: 'free', schedule: { reference: 'Schedule/c' }, start, end };
const asked: (string | undefined)[] = [];

const { app } = await withPortal({}, (clinic) => {
  clinic.get('/fhir/R4/Schedule', async () => bundle(schedule));
  clinic.get('/fhir/R4/Slot', async () => bundle(slot));
  clinic.get('/fhir/R4/Slot/s', async () => slot);
  clinic.get('/fhir/R4/HealthcareService', async () =>
    bundle(
      { resourceType: 'HealthcareService', id: 'h', providedBy: { reference: 'Organization/o' } },
      { resourceType: 'Organization', id: 'o', telecom: [{ system: 'phone', value: '+49 30 1234' }] },
    ),
  );
  clinic.post<{ Body: string }>('/fhir/R4/Appointment/$answer', async ({ body }) => {
    const { parameter = [] }: Parameters = JSON.parse(body);
    const answer = parameter.find(({ name }) => name === 'answer')?.valueCode;
    const to = parameter.find(({ name }) => name === 'start')?.valueInstant;
    asked.push(answer);
    return {
      resourceType: 'Parameters',
      parameter: [
        { name: 'status', valueCode: 'booked' },
        { name: 'start', valueInstant: to ?? '2040-01-02T09:00:00Z' },
        ...(answer === 'move' ? [{ name: 'serviceType', valueCodeableConcept: { coding: [coding] } }] : []),
        ...answers.map((valueCode) => ({ name: 'answer', valueCode })),
      ],
    };
  });
});

const main = ({ body }: { readonly body: string }): string => /<main.*<\/main>/s.exec(body)?.[0] ?? '';
const buttons = (page: string): string[] => [...page.matchAll(/value="(\w+)"/g)].map(([, value = '']) => value);

test('another time can be asked for wherever one can cancel: a visit cannot be moved here, and the page says what to do', async () => {
  const { send } = aBrowser(app, '192.0.2.1');
  answers = ['come', 'cancel', 'stop'];
  const first = main(await send('/portal/message/a.b'));
  expect(buttons(first)).toEqual(['come', 'move', 'cancel', 'stop']);
  expect(first).not.toContain('tel:');
  const next = main(await send('/portal/message/a.b', { answer: 'move' }));
  expect(next).toContain('This appointment cannot be moved here.');
  expect(next).toContain('href="tel:+49301234"');
  expect(next).toContain('href="/portal/"');
  expect(buttons(next)).toEqual(['cancel', 'stop']);
  expect(asked).toEqual([undefined, undefined]);
});

test('who can do nothing here any more finds the telephone', async () => {
  const { send } = aBrowser(app, '192.0.2.1');
  for (const possible of [['come', 'stop'], ['stop']]) {
    answers = possible;
    const page = main(await send('/portal/message/a.b'));
    expect(buttons(page)).toEqual(possible);
    expect(page).toContain('href="tel:+49301234"');
  }
});

test('another time is found among the free times, whichever portal has booked, and moved to by a button alone', async () => {
  const { send } = aBrowser(app, '192.0.2.2');
  answers = ['come', 'cancel', 'move', 'stop'];
  asked.length = 0;
  const times = `${(await send('/portal/message/a.b', { answer: 'move' })).headers.location}`;
  expect(times).toBe('/portal/times?service=urn%3As%7Cgp&message=a.b');
  const page = main(await send(times));
  expect(page).toContain('action="/portal/message/a.b/move"');
  const time = /name="time" value="([^"]+)"/.exec(page)?.[1] ?? '';
  const query = new URLSearchParams({ service: 'urn:s|gp', time }).toString();
  const question = main(await send(`/portal/message/a.b/move?${query}`));
  expect(question).toContain('<form method="post" action="/portal/message/a.b/move"');
  expect(question).toContain('<br>Dr. A</dd>');
  expect(asked).toEqual([undefined, 'move', undefined, undefined]);
  const done = main(await send('/portal/message/a.b/move', { service: 'urn:s|gp', time }));
  expect(done).toContain('Your appointment was moved.');
  expect(asked.at(-1)).toBe('move');
  answers = ['stop'];
  expect(main(await send(times))).toContain('href="tel:+49301234"');
});
