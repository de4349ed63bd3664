import type { Schedule } from '@medplum/fhirtypes';
import { asking, type Check, fromStage6, isikStages } from '../check.ts';
import {
  type Expectation,
  findsOnly,
  has,
  hasNot,
  leadsTo,
  matchesIn,
  resource,
  status,
  that,
} from '../expectation.ts';
import { isObject } from '../resource.ts';

const usage = (type: string): `GET ${string}` =>
  `GET /CodeSystem?context-type-value={config.contextTypeSystem}|ResourceUsage\${config.resourceTypesSystem}|${type}&_count=100`;

const usedIn = (type: string): string =>
  `useContext.where(code.system = '{config.contextTypeSystem}' and code.code = 'ResourceUsage' and value.coding.where(system = '{config.resourceTypesSystem}' and code = '${type}').exists()).exists()`;

function systemsIn(schedules: readonly { readonly resourceType: string }[]): string[] {
  const isSchedule = (one: { readonly resourceType: string }): one is Schedule => one.resourceType === 'Schedule';
  const types = schedules.filter(isSchedule).flatMap(({ serviceType = [] }) => serviceType);
  return types.flatMap(({ coding = [] }) => coding.flatMap(({ system }) => system ?? []));
}

function urlsIn(kept: unknown): string[] {
  const entries: unknown = isObject(kept) ? kept.entry : [];
  return (Array.isArray(entries) ? entries : []).flatMap((entry: unknown) => {
    const found = isObject(entry) ? entry.resource : undefined;
    return isObject(found) && typeof found.url === 'string' ? [found.url] : [];
  });
}

const systemsAreExposed: Expectation = {
  says: 'every system in Schedule.serviceType is one of the CodeSystems found before',
  holds: (response, { codeSystems }) => {
    const exposed = urlsIn(codeSystems);
    return systemsIn(matchesIn(response, 'Schedule')).every((system) => exposed.includes(system));
  },
};

const codeSystems = (type: string): Check => ({
  name: `code-systems-${type.toLowerCase()}`,
  rule: `The code systems that are used in ${type} are found by context-type-value, and no others.`,
  section: 'Specification 4.1',
  steps: [{ request: usage(type), expect: findsOnly('CodeSystem', usedIn(type)) }],
});

/** Searches of a requestor before a booking (specification 4.1 to 4.3). */
export const discoveryChecks: readonly Check[] = [
  codeSystems('HealthcareService'),
  codeSystems('Schedule'),
  {
    name: 'code-systems-exposed',
    rule: 'Every code system in which the service type of a bookable Schedule is coded is exposed.',
    section: 'Specification 4.1, rule 1',
    steps: [
      { request: usage('Schedule'), keep: 'codeSystems', expect: [status(200), that("type = 'searchset'")] },
      { request: 'GET /Schedule?_count=200', expect: [status(200), systemsAreExposed] },
    ],
  },
  {
    name: 'schedules',
    rule: 'GET /Schedule finds Schedules that are open for booking.',
    section: 'Specification 4.2',
    steps: [{ request: 'GET /Schedule', expect: findsOnly('Schedule', 'active.exists().not() or active = true') }],
  },
  {
    name: 'schedules-inactive',
    rule: 'A Schedule that is not active is not found.',
    section: 'Specification 4.2',
    needs: ['inactiveSchedule', 'practitioner'],
    steps: [
      { request: 'GET /Schedule?actor={practitioner}&_count=100', expect: [status(200), hasNot('{inactiveSchedule}')] },
    ],
  },
  asking({
    name: 'schedules-by-actor',
    rule: 'Schedules are found by their actor.',
    section: 'Specification 4.2',
    needs: ['schedule', 'practitioner', 'serviceSchedule'],
    request: 'GET /Schedule?actor={practitioner}&_count=100',
    expect: [
      ...findsOnly('Schedule', `actor.where(${leadsTo('{practitioner}')}).exists()`),
      has('{schedule}'),
      hasNot('{serviceSchedule}'),
    ],
  }),
  asking({
    name: 'schedules-by-actors',
    rule: 'Schedules are found by several actors at once.',
    section: 'Specification 4.2',
    needs: ['schedule', 'practitioner', 'serviceSchedule', 'healthcareService'],
    request: 'GET /Schedule?actor={practitioner},{healthcareService}&_count=100',
    expect: [
      ...findsOnly(
        'Schedule',
        `actor.where(${leadsTo('{practitioner}')} or ${leadsTo('{healthcareService}')}).exists()`,
      ),
      has('{schedule}'),
      has('{serviceSchedule}'),
    ],
  }),
  asking({
    name: 'slots-free',
    rule: 'The free Slots of a Schedule are found, and no others.',
    section: 'Specification 4.3',
    needs: ['schedule', 'slot', 'busySlot'],
    request: 'GET /Slot?schedule={schedule}&status=free&_count=100',
    expect: [
      ...findsOnly('Slot', `status = 'free' and schedule.${leadsTo('{schedule}')}`),
      has('{slot}'),
      hasNot('{busySlot}'),
    ],
  }),
  {
    name: 'slots-by-payer-kind',
    level: 'MAY',
    rule: 'Slots are found by the payer kind that they serve; those that name none serve all.',
    section: 'docs/portals.md, Finding a time',
    needs: ['schedule', 'slot', 'privateSlot'],
    steps: ['private', 'statutory'].map((code) => ({
      request: `GET /Slot?schedule={schedule}&payer-kind=${code}&_count=100`,
      expect: [status(200), has('{slot}'), code === 'private' ? has('{privateSlot}') : hasNot('{privateSlot}')],
    })),
  },
  {
    name: 'slots-by-type-of-service',
    rule: 'Slots are found through the Schedule’s actor: by the type of a HealthcareService.',
    section: 'Specification 4.3',
    needs: ['serviceSlot', 'slot'],
    steps: [
      {
        request:
          'GET /Slot?schedule.actor:HealthcareService.type={serviceType.system}|{serviceType.code}&start={serviceSlot.start}&status=free&_count=100',
        expect: [...findsOnly('Slot', "status = 'free'"), has('{serviceSlot}'), hasNot('{slot}')],
      },
      {
        request:
          'GET /Slot?schedule.actor:HealthcareService.type={serviceType.system}|no-{serviceType.code}&start={serviceSlot.start}&_count=100',
        expect: [status(200), hasNot('{serviceSlot}')],
      },
    ],
  },
  asking({
    name: 'slots-past',
    level: 'SHOULD',
    rule: 'A search for free Slots without start begins now.',
    section: 'ISiK Terminplanung, Slot',
    stages: isikStages,
    needs: ['schedule', 'pastSlot', 'slot'],
    request: 'GET /Slot?schedule={schedule}&status=free&_count=100',
    expect: [status(200), has('{slot}'), hasNot('{pastSlot}')],
  }),
  asking({
    name: 'slots-over-days',
    rule: 'A search from one day to another includes all of both days.',
    section: 'ISiK Terminplanung, Slot; FHIR R4, search by date',
    stages: isikStages,
    needs: ['schedule', 'slot'],
    request: 'GET /Slot?schedule={schedule}&start=ge{slot.start.date}&start=le{slot.start.date}&_count=100',
    expect: [status(200), has('{slot}')],
  }),
  asking({
    name: 'search-unknown-parameter',
    rule: 'A search parameter that the service does not know is ignored, and left out of the link self.',
    section: 'ISiK Basismodul 6.0.0-rc, search',
    stages: fromStage6,
    needs: ['schedule'],
    request: 'GET /Schedule?_id={schedule.id}&not-a-parameter=1',
    expect: [
      status(200),
      has('{schedule}'),
      that("link.where(relation = 'self').url.all(contains('not-a-parameter').not())"),
    ],
  }),
  asking({
    name: 'search-unknown-parameter-strict',
    level: 'SHOULD',
    rule: 'With Prefer: handling=strict a search parameter that the service does not know is refused.',
    section: 'FHIR R4, search, handling errors',
    request: 'GET /Schedule?not-a-parameter=1',
    headers: { prefer: 'handling=strict' },
    expect: [status(400), resource('OperationOutcome')],
  }),
];
