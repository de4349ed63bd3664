import type { Location, Practitioner, PractitionerRole } from '@medplum/fhirtypes';
import { listOf, textOf } from '../../../packages/web/elements.ts';
import { type BookingService, isRefusal, resourcesIn } from '../fhir/client.ts';
import { type Picture, pictureIn } from './pictures.ts';
import { type BookableService, locationText } from './services.ts';

/** The practitioner of a Schedule. */
export interface Doctor {
  readonly id: string;
  readonly picture: Picture | undefined;
  readonly workplace: string | undefined;
  /** Language tags (BCP 47), or names of languages that have no code at the clinic. */
  readonly languages: readonly string[];
}

const MAX = 100;

const idsOf = (type: string, references: readonly string[]): string[] =>
  references.flatMap((one) => (one.startsWith(`${type}/`) ? one.slice(type.length + 1) : [])).slice(0, MAX);

function doctorOf(practitioner: Practitioner, workplace: Location | undefined): Doctor {
  return {
    id: practitioner.id ?? '',
    picture: pictureIn(listOf(practitioner.photo)),
    workplace: workplace && locationText(workplace, ''),
    languages: listOf(practitioner.communication).flatMap(
      ({ coding, text }) => textOf(listOf(coding)[0]?.code) ?? textOf(text) ?? [],
    ),
  };
}

/** Reads the practitioners of a service, by the actor of their Schedule; empty if one of the searches fails. */
export async function readDoctors(
  client: BookingService,
  service: BookableService,
): Promise<ReadonlyMap<string, Doctor>> {
  const actors = service.schedules.map(({ actor }) => actor);
  const [people, roles] = [idsOf('Practitioner', actors), idsOf('PractitionerRole', actors)];
  const included = { _include: ['PractitionerRole:practitioner', 'PractitionerRole:location'], _count: '500' };
  const found = await Promise.all([
    people.length > 0 && client.search('Practitioner', { _id: people.join(','), _count: String(MAX) }),
    people.length > 0 && client.search('PractitionerRole', { practitioner: people.join(','), ...included }),
    roles.length > 0 && client.search('PractitionerRole', { _id: roles.join(','), ...included }),
  ]);
  // A partial result would be cached for other visitors.
  const isWhole = found.every((one) => !one || !isRefusal(one));
  const bundles = found.flatMap((one) => (isWhole && one && !isRefusal(one) ? one : []));
  const all = <T extends 'Practitioner' | 'PractitionerRole' | 'Location'>(type: T) =>
    bundles.flatMap((bundle) => resourcesIn(bundle, type));
  const locations = new Map(all('Location').map((one) => [`Location/${one.id}`, one]));
  const locationOf = (role: PractitionerRole | undefined) => locations.get(listOf(role?.location)[0]?.reference ?? '');
  const works = all('PractitionerRole').filter(({ active }) => active !== false);
  return new Map(
    all('Practitioner').flatMap((practitioner): [string, Doctor][] => {
      const reference = `Practitioner/${practitioner.id}`;
      const own = works.filter((role) => role.practitioner?.reference === reference);
      return [
        [reference, doctorOf(practitioner, locationOf(own.length === 1 ? own[0] : undefined))],
        ...own.map((role): [string, Doctor] => [
          `PractitionerRole/${role.id}`,
          doctorOf(practitioner, locationOf(role)),
        ]),
      ];
    }),
  );
}
