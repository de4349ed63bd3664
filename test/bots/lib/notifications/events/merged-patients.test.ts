import '../../../config.ts';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Patient, PatientLink } from '@medplum/fhirtypes';
import { formerPatients, readMergedPatients } from '../../../../../bots/lib/notifications/events/merged-patients.ts';
import type { SubscriptionOutbox } from '../../../../../bots/lib/notifications/outbox-store.ts';
import { requestorTag } from '../../../../../core/fhir/tags.ts';
import type { Change } from '../../../../../core/notifications/events/appointment-events.ts';
import { portal } from '../../../../core/notifications/support.ts';
import { config } from '../../../config.ts';
import { withMedplum } from '../../../medplum.ts';
import { filteredBy, forgetOutboxes, foundFor, subscribe } from './fixtures.ts';

const medplum = withMedplum();
afterEach(() => forgetOutboxes(medplum()));

const linkTo = (id: string, type: PatientLink['type'] = 'replaced-by'): PatientLink => ({
  type,
  other: { reference: `Patient/${id}` },
});

/** A patient of somebody, merged into others. */
const aPatient = (link: readonly PatientLink[] = [], owner = portal) =>
  medplum().create<Patient>({
    resourceType: 'Patient',
    meta: { tag: [requestorTag(owner, config)] },
    ...(link.length > 0 && { link: [...link] }),
  });

/** A chain of patients, each merged into the one before. */
async function aChain(length: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < length) {
    const before = ids.at(-1);
    ids.push((await aPatient(before === undefined ? [] : [linkTo(before)])).id);
  }
  return ids;
}

const changeOf = (...actors: readonly (string | undefined)[]): Change => ({
  previous: undefined,
  by: undefined,
  current: {
    resourceType: 'Appointment',
    status: 'booked',
    participant: actors.map((reference) => ({ status: 'accepted', ...(reference && { actor: { reference } }) })),
  },
});

describe('merged patients', () => {
  let asking: SubscriptionOutbox;
  beforeEach(async () => {
    asking = await subscribe(medplum(), { more: filteredBy('Appointment?patient=Patient/p') });
  });

  const read = async (outboxes: readonly SubscriptionOutbox[], ...changes: readonly Change[]) => {
    const merged = await readMergedPatients(medplum().medplum, outboxes, changes);
    return merged.map(({ id }) => id);
  };

  it('are those who were merged into the patients of the changes, and into these', async () => {
    const [survivor = '', ...merged] = await aChain(3);
    const ids = await read([asking], changeOf(`Patient/${survivor}`));
    expect(ids).toEqual(merged);
  });

  it('are those who are replaced by a patient, not those who are linked otherwise', async () => {
    const survivor = await aPatient();
    const merged = await aPatient([linkTo(survivor.id)]);
    await aPatient([linkTo(survivor.id, 'seealso')]);
    const elsewhere = await aPatient();
    await aPatient([linkTo(elsewhere.id), linkTo(survivor.id, 'seealso')]);
    expect(await read([asking], changeOf(`Patient/${survivor.id}`))).toEqual([merged.id]);
  });

  it('are none if no Subscription asks for certain patients', async () => {
    const [survivor = ''] = await aChain(2);
    const others = [
      await subscribe(medplum()),
      await subscribe(medplum(), { more: filteredBy('Appointment?status=booked') }),
      await subscribe(medplum(), { more: { criteria: 'https://elsewhere.example/topic' } }),
    ];
    expect(await read(others, changeOf(`Patient/${survivor}`))).toEqual([]);
    expect(await read([...others, asking], changeOf(`Patient/${survivor}`))).toHaveLength(1);
  });

  it('are asked for if one of several values, or filters, is a patient', async () => {
    const [survivor = ''] = await aChain(2);
    const filter = 'Appointment?status=booked&actor=Practitioner/p,Patient/p';
    const stored = await subscribe(medplum(), { more: filteredBy(filter) });
    expect(await read([stored], changeOf(`Patient/${survivor}`))).toHaveLength(1);
  });

  it('are followed over eight merges', async () => {
    const [survivor, ...merged] = await aChain(10);
    const ids = await read([asking], changeOf(`Patient/${survivor}`));
    expect(ids).toEqual(merged.slice(0, 8));
  });

  it('that were merged in a circle are found once', async () => {
    const [first = '', second = ''] = await aChain(2);
    const stored = await medplum().read<Patient>(`Patient/${first}`);
    await medplum().change<Patient>(stored ?? { resourceType: 'Patient' }, { link: [linkTo(second)] });
    const ids = await read([asking], changeOf(`Patient/${first}`));
    expect(new Set(ids)).toEqual(new Set([first, second]));
  });

  it('are no resources without an id', async () => {
    const nameless: Patient = { resourceType: 'Patient', link: [linkTo('p1')] };
    medplum().interfere((asked) => (asked.entries[0]?.includes('link=Patient/p1&') ? foundFor([nameless]) : undefined));
    expect(await read([asking], changeOf('Patient/p1'))).toEqual([]);
  });
});

describe('the patients whom a subscriber may know', () => {
  const merged = (id: string, into: string, owner = portal): Patient => ({
    resourceType: 'Patient',
    id,
    meta: { tag: [requestorTag(owner, config)] },
    link: [linkTo(into)],
  });
  const limited = { row: { readable: ['Appointment?_tag=x|y'] } };

  it.each<[string, object, string[]]>([
    ['of one who may read every appointment are all', {}, ['Patient/b', 'Patient/c', 'Patient/d']],
    ['of others are their own', limited, ['Patient/b', 'Patient/d']],
  ])('%s', async (_, given, expected) => {
    const all = [merged('b', 'a'), merged('c', 'a', 'other'), merged('d', 'c'), merged('e', 'x')];
    const formerOf = formerPatients(all, await subscribe(medplum(), given));
    expect(formerOf('Patient/a')).toEqual(expected);
    expect(formerOf('Patient/e')).toEqual([]);
    expect(formerOf('Practitioner/a')).toEqual([]);
  });

  it('were merged at most eight times, though in a circle', async () => {
    const chain = Array.from({ length: 10 }, (_, index) => merged(`p${index + 1}`, `p${index}`));
    const formerOf = formerPatients(chain, await subscribe(medplum()));
    expect(formerOf('Patient/p0')).toEqual(Array.from({ length: 8 }, (_, index) => `Patient/p${index + 1}`));
    const circle = formerPatients([merged('a', 'b'), merged('b', 'a')], await subscribe(medplum()));
    expect(new Set(circle('Patient/a'))).toEqual(new Set(['Patient/a', 'Patient/b']));
  });
});
