import { expect, it } from '@jest/globals';
import type { HealthcareService, Schedule } from '@medplum/fhirtypes';
import { confirmationOf } from '../../../../core/booking/book/slots/service-type.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { config, schedule } from '../support.ts';

type Wish = 'manual' | 'automatic' | undefined;

const said = (code: string | undefined) =>
  code === undefined ? {} : { extension: [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: code }] };

/** Schedules, each with what it says itself and what its services say. */
const decided = (byDefault: 'manual' | 'automatic', ...all: readonly (readonly [Wish, ...Wish[]])[]) => {
  const calendars = all.map(([own], index): Schedule => ({ ...schedule, id: `${index}`, ...said(own) }));
  const servicesOf = ({ id }: Schedule) =>
    (all[Number(id)] ?? [])
      .slice(1)
      .map((wish): HealthcareService => ({ resourceType: 'HealthcareService', ...said(wish) }));
  return confirmationOf(calendars, servicesOf, { ...config, confirmation: byDefault });
};

it.each<['manual' | 'automatic', (readonly [Wish, ...Wish[]])[], string]>([
  ['automatic', [[undefined]], 'automatic'],
  ['manual', [[undefined]], 'manual'],
  ['manual', [[undefined, undefined, 'automatic']], 'automatic'],
  ['automatic', [[undefined, 'automatic', 'manual']], 'manual'],
  ['automatic', [['automatic', 'manual']], 'automatic'],
  ['automatic', [['manual', 'automatic']], 'manual'],
  ['automatic', [['automatic'], [undefined, 'manual']], 'manual'],
  ['manual', [['automatic'], [undefined]], 'manual'],
  ['manual', [], 'automatic'],
])('by default %s, said %j: %s', (byDefault, all, expected) => {
  expect(decided(byDefault, ...all)).toBe(expected);
});
