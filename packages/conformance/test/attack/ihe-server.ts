import type { Appointment, Bundle, Parameters, Patient, Reference, Resource } from '@medplum/fhirtypes';
import { isResource } from '../../../../core/fhir/resource.ts';
import { adapters } from '../../attack/adapters.ts';
import type { Attack } from '../../attack/attack.ts';
import type { Answer, Client } from '../../client.ts';

const HALF = 30 * 60_000;
const FROM = Date.parse('2031-03-03T10:00:00Z');

const answer = (status: number, resource: Resource): Answer => ({
  status,
  header: {},
  text: JSON.stringify(resource),
  resource,
});

const conflict = (): Answer =>
  answer(409, { resourceType: 'OperationOutcome', issue: [{ severity: 'error', code: 'conflict' }] });

const bundle = (resources: readonly Resource[]): Answer =>
  answer(200, {
    resourceType: 'Bundle',
    type: 'searchset',
    entry: resources.map((resource) => ({ resource })),
  } as Bundle);

/**
 * A server with the operations of IHE ITI Scheduling, as far as the kit uses them: four half hours are proposed by `$find`,
 * one person has each by `$hold`, and `$book` books what is held and takes what is cancelled.
 *
 * @param forgets - it looks whether a time is free, but not again when it writes
 */
export function iheServer({ forgets = false } = {}): Client {
  const stored = new Map<string, Resource>();
  const proposals = [0, 1, 2, 3].map((index): Appointment & { id: string } => {
    const [start, end] = [index, index + 1].map((one) => new Date(FROM + one * HALF).toISOString());
    return {
      resourceType: 'Appointment',
      id: `proposal-${index}`,
      status: 'proposed',
      start,
      end,
      participant: [],
    } as never;
  });
  const appointments = (): Appointment[] => [...stored.values()].filter((one) => isResource(one, 'Appointment'));
  const isFree = ({ start }: Appointment): boolean =>
    !appointments().some((one) => one.start === start && one.status !== 'cancelled');

  function store<T extends Resource>(resource: T): Answer {
    const id = resource.id ?? `${resource.resourceType}-${stored.size + 1}`;
    stored.set(`${resource.resourceType}/${id}`, { ...resource, id });
    return answer(201, { ...resource, id });
  }

  const hold = (proposal: Appointment): Answer => {
    const { id: _, ...rest } = proposal;
    return store<Appointment>({ ...rest, status: 'pending', participant: [{ status: 'needs-action' }] });
  };

  async function operate(name: string, { parameter = [] }: Parameters): Promise<Answer> {
    const of = (one: string) => parameter.find((each) => each.name === one);
    const cancelled = of('appointment-resource')?.resource;
    if (isResource(cancelled, 'Appointment')) {
      return store<Appointment>({ ...(stored.get(`Appointment/${cancelled.id}`) as Appointment), status: 'cancelled' });
    }
    const reference = of('appointment-reference')?.valueReference?.reference ?? '';
    const proposal = proposals.find(({ id }) => reference === `Appointment/${id}`);
    if (name === 'hold') {
      const wasFree = proposal !== undefined && isFree(proposal);
      await new Promise((resolve) => setImmediate(resolve));
      return proposal && (forgets ? wasFree : isFree(proposal)) ? hold(proposal) : conflict();
    }
    const held = stored.get(reference);
    const patient = of('patient-reference')?.valueReference as Reference<Patient> | undefined;
    return isResource(held, 'Appointment') && held.status === 'pending' && patient
      ? store<Appointment>({ ...held, status: 'booked', participant: [{ actor: patient, status: 'accepted' }] })
      : conflict();
  }

  return {
    baseUrl: 'http://localhost',
    async send({ method, path, body }): Promise<Answer> {
      await new Promise((resolve) => setImmediate(resolve));
      const [, operation] = /^\/Appointment\/\$(\w+)/.exec(path) ?? [];
      if (operation === 'find') {
        return bundle(proposals.filter(isFree));
      }
      if (operation) {
        return operate(operation, body as Parameters);
      }
      const [, patient] = /patient=([^&]*)/.exec(decodeURIComponent(path)) ?? [];
      const isOf = ({ participant }: Appointment): boolean =>
        participant.some(({ actor }) => actor?.reference === patient);
      const found = stored.get(path.slice(1));
      return method === 'POST'
        ? store(body as Resource)
        : patient
          ? bundle(appointments().filter(isOf))
          : found
            ? answer(200, found)
            : answer(404, { resourceType: 'OperationOutcome', issue: [] });
    },
  };
}

/** An attack on it. */
export const iheAttack = (client: Client): Omit<Attack, 'goesOn'> => ({
  portals: [1, 2, 3].map(() => ({ client, adapter: adapters.ihe })),
  kinds: [],
  given: { schedule: 'Schedule/1', terms: { capacity: 1, before: 0, after: 0 } },
  constants: { run: 'ihe' },
  from: FROM,
  seed: 1,
  bounds: { within: 50, situations: 20_000 },
  trouble: { late: 0.3, cut: 0, repeated: 0, longest: 5 },
  acts: 8,
  rounds: 4,
});
