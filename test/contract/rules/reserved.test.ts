import { describe, expect, it } from '@jest/globals';
import type { Appointment, Meta } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { REPLACES } from '../../../core/fhir/reserved.ts';
import { aClinic, aPatient, book, parameters, proposed } from '../fixtures.ts';
import { type Answer, issuesOf, request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';

const codesOf = (answer: Answer): string[] => issuesOf(answer).map((issue) => issue.split(' ')[0] ?? '');

const ownerSystem = artefactUri(config, 'LocalRequestor');
const ownerOf = ({ meta }: { meta?: Meta | undefined }): string =>
  meta?.tag?.find(({ system }) => system === ownerSystem)?.code ?? '';

const jsonPatch = (id: string | undefined, operations: readonly object[], role: 'portal-a' | 'portal-b' = 'portal-a') =>
  request(role, 'PATCH', `/Appointment/${id}`, {
    body: operations,
    headers: { 'content-type': 'application/json-patch+json' },
  });

const aBooking = async (more: Partial<Appointment> = {}): Promise<Appointment> => {
  const { slot, patient } = await aClinic();
  return resourceIn('Appointment', await book(proposed(patient, [slot], more)));
};

describe("the service's own tags, extensions and identifiers in $book", () => {
  it("another owner's tag in another letter case is dropped: the other neither reads nor confirms", async () => {
    const other = ownerOf(await aPatient('portal-b'));
    const { slot, patient } = await aClinic();
    const tag = [{ system: ownerSystem.toLowerCase(), code: other }];
    const { id, meta } = resourceIn('Appointment', await book(proposed(patient, [slot], { meta: { tag } })));
    expect(meta?.tag?.filter(({ code }) => code === other)).toEqual([]);
    expect((await request('portal-b', 'GET', `/Appointment/${id}`)).status).toBe(404);
    const answer = await jsonPatch(id, [{ op: 'replace', path: '/status', value: 'fulfilled' }], 'portal-b');
    expect(answer.status).toBe(404);
  });

  it('a forged replacement and an identifier of the service are dropped', async () => {
    const identifier = [{ system: artefactUri(config, 'LocalSlotOrigin').toUpperCase(), value: '1' }];
    const extension = [{ url: REPLACES, valueReference: { reference: 'Appointment/1' } }];
    const booked = await aBooking({ identifier, extension });
    expect([booked.identifier, booked.extension]).toEqual([undefined, undefined]);
  });

  it('so are replacements sent twice or as text, and a tag external sent twice is there once', async () => {
    const external = { system: config.metaTagSystem, code: 'external' };
    const reference = { url: REPLACES, valueReference: { reference: 'Appointment/1' } };
    const extension = [reference, reference, { url: REPLACES, valueString: 'Appointment/1' }];
    const booked = await aBooking({ extension, meta: { tag: [external, external] } });
    expect(booked.extension).toBeUndefined();
    expect(booked.meta?.tag?.filter(({ system }) => system === external.system)).toEqual([external]);
  });

  it('those of a patient that is handed over are dropped', async () => {
    const { slot } = await aClinic();
    const tag = [{ system: ownerSystem.toUpperCase(), code: 'somebody' }];
    const patient = { resourceType: 'Patient', meta: { tag }, name: [{ family: 'Tagged' }] };
    const answer = await book(
      parameters({ ...proposed({ resourceType: 'Patient' }, [slot]), participant: undefined }, ['patient', patient]),
    );
    const reference = resourceIn('Appointment', answer).participant[0]?.actor?.reference;
    const stored = resourceIn('Patient', await request('portal-a', 'GET', `/${reference}`));
    expect(stored.meta?.tag?.filter(({ code }) => code === 'somebody')).toEqual([]);
  });
});

describe('PATCH leaves to the service what is its own: 400 immutable-element', () => {
  const tags = ({ meta }: Appointment) => meta?.tag ?? [];
  it.each<[string, (booked: Appointment) => object]>([
    [
      'an owner besides',
      (booked) => ({
        op: 'add',
        path: '/meta/tag',
        value: [...tags(booked), { system: ownerSystem.toLowerCase(), code: 'b' }],
      }),
    ],
    [
      'no tag external',
      (booked) => ({ op: 'add', path: '/meta/tag', value: tags(booked).filter(({ code }) => code !== 'external') }),
    ],
    ['security labels', () => ({ op: 'add', path: '/meta/security', value: [{ system: 'urn:x', code: 'R' }] })],
    [
      'a forged replacement',
      () => ({
        op: 'add',
        path: '/extension',
        value: [{ url: REPLACES, valueReference: { reference: 'Appointment/1' } }],
      }),
    ],
    ["the patient's display", () => ({ op: 'add', path: '/participant/0/actor/display', value: 'Somebody else' })],
    ["the patient's identifier", () => ({ op: 'add', path: '/participant/0/actor/identifier', value: { value: '1' } })],
    ["the patient's type", () => ({ op: 'add', path: '/participant/0/actor/type', value: 'Patient' })],
  ])('%s', async (_, operation) => {
    const booked = await aBooking();
    const answer = await jsonPatch(booked.id, [operation(booked)]);
    expect([answer.status, codesOf(answer)]).toEqual([400, ['immutable-element']]);
    expect((await request('portal-a', 'GET', `/Appointment/${booked.id}`)).body).toEqual(booked);
  });
});

describe('answers that the caller may not read', () => {
  const foreignAnswers = async (): Promise<string> => {
    const { slot } = await aClinic();
    const patient = await aPatient('portal-b');
    const response = {
      resourceType: 'QuestionnaireResponse',
      status: 'completed',
      text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Allergies: none</div>' },
      item: [{ linkId: '1', text: 'Allergies', answer: [{ valueString: 'none' }] }],
    };
    const body = parameters(proposed(patient, [slot]), ['patientSubmittedInformation', response]);
    return resourceIn('Appointment', await book(body, 'portal-b')).supportingInformation?.[0]?.reference ?? '';
  };

  it('are not attached by $book (422) or PATCH (400): profile-violation', async () => {
    const supportingInformation = [{ reference: await foreignAnswers() }];
    expect(supportingInformation[0]?.reference).toMatch(/^QuestionnaireResponse\//);
    const { slot, patient } = await aClinic();
    const refused = await book(proposed(patient, [slot], { supportingInformation }));
    expect([refused.status, codesOf(refused)]).toEqual([422, ['profile-violation']]);
    const { id } = resourceIn('Appointment', await book(proposed(patient, [slot])));
    const patched = await jsonPatch(id, [{ op: 'add', path: '/supportingInformation', value: supportingInformation }]);
    expect([patched.status, codesOf(patched)]).toEqual([400, ['profile-violation']]);
  });
});

describe('a patient that is created or updated', () => {
  it('loses what the service alone sets, and keeps whose it is', async () => {
    const tag = [{ system: ownerSystem.toUpperCase(), code: 'somebody' }];
    const identifier = [{ system: artefactUri(config, 'LocalSlotOrigin').toLowerCase(), value: '1' }];
    const created = await aPatient('portal-a', { meta: { tag }, identifier });
    expect(created.identifier).toBeUndefined();
    const owner = ownerOf(created);
    const body = { ...created, meta: { tag: [...tag, { system: ownerSystem, code: 'somebody' }] }, identifier };
    const answer = await request('portal-a', 'PUT', `/Patient/${created.id}`, { body });
    const updated = resourceIn('Patient', answer);
    expect([answer.status, updated.identifier, ownerOf(updated)]).toEqual([200, undefined, owner]);
    expect(updated.meta?.tag?.filter(({ code }) => code === 'somebody')).toEqual([]);
  });

  it('is refused with implicitRules or an unknown modifierExtension: 400 malformed-request', async () => {
    const created = await aPatient();
    for (const more of [{ implicitRules: 'urn:x' }, { modifierExtension: [{ url: 'urn:x', valueString: 'x' }] }]) {
      const body = { resourceType: 'Patient', ...more };
      const answers = [
        await request('portal-a', 'POST', '/Patient', { body }),
        await request('portal-a', 'PUT', `/Patient/${created.id}`, { body: { ...body, id: created.id } }),
      ];
      expect(answers.map((answer) => [answer.status, codesOf(answer)])).toEqual(
        answers.map(() => [400, ['malformed-request']]),
      );
    }
  });
});
