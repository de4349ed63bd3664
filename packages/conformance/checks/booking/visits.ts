import { asking, type Check, type RequestStep } from '../../check.ts';
import { codedOutcome, resource, status, that } from '../../expectation.ts';
import { parameters, proposal } from '../../preparation/bodies.ts';
import { bookSlot, inOther, isBookedOrPending } from './common.ts';

const service = { name: 'service', valueReference: { reference: '{visitService}' } };
const period = { name: 'period', valuePeriod: { start: '{slot.start}', end: '{slot.end}' } };

const find = (...parameter: object[]): Pick<RequestStep, 'request' | 'body'> => ({
  request: 'POST /Appointment/$find',
  body: { resourceType: 'Parameters', parameter },
});

const first = 'found.entry.0.resource.entry.0.resource';

const rule = { level: 'MAY', section: 'docs/portals.md, Whole visits', needs: ['visitService', 'slot'] } as const;

const both = {
  request: 'POST /Appointment/$book',
  body: parameters(proposal(), { name: 'appt-resource', resource: proposal(inOther) }),
} as const;

const together = { ...rule, section: 'docs/portals.md, Several appointments at once' } as const;

/** Visits that are looked for, and several appointments that are booked at once. */
export const visitChecks: readonly Check[] = [
  {
    ...rule,
    name: 'find-visit',
    rule: '$find answers a Bundle of proposals, each a Bundle of proposed Appointments that $book takes as they stand.',
    needs: [...rule.needs, 'patient'],
    steps: [
      {
        ...find(service, period),
        keep: 'found',
        expect: [
          status(200),
          resource('Bundle'),
          that("type = 'collection' and entry.resource.count() = 1"),
          that("entry.resource.entry.resource.all(status = 'proposed' and slot.exists())"),
          that("entry.resource.entry.resource.extension.where(url = '{uri.LocalVisitStep}').exists()"),
        ],
      },
      {
        request: 'POST /Appointment/$book',
        body: proposal({
          start: `{${first}.start}`,
          end: `{${first}.end}`,
          slot: [{ reference: `{${first}.slot.0.reference}` }],
          serviceType: [
            {
              coding: [
                { system: `{${first}.serviceType.0.coding.0.system}`, code: `{${first}.serviceType.0.coding.0.code}` },
              ],
            },
          ],
        }),
        expect: [isBookedOrPending],
      },
      { ...find(service, period), expect: [status(200), that('entry.empty()')] },
    ],
  },
  {
    ...together,
    name: 'book-several',
    rule: 'Several Appointments are booked in one request, answered as a Bundle, and tied together by one identifier.',
    needs: ['slot', 'otherSlot', 'patient'],
    steps: [
      {
        ...both,
        expect: [
          status(201),
          resource('Bundle'),
          that("type = 'collection' and entry.resource.count() = 2"),
          that("entry.resource.all(status = 'booked')"),
          that("entry.resource.identifier.where(system = '{uri.LocalVisitGroup}').count() = 2"),
          that("entry.resource.identifier.where(system = '{uri.LocalVisitGroup}').value.distinct().count() = 1"),
        ],
      },
    ],
  },
  {
    ...together,
    name: 'book-several-or-none',
    rule: 'If one of several Appointments cannot be booked, none is.',
    needs: ['slot', 'otherSlot', 'patient'],
    steps: [
      bookSlot,
      { ...both, expect: [status(409), codedOutcome] },
      { request: 'GET /{otherSlot}', expect: [status(200), that("status = 'free'")] },
    ],
  },
  asking({
    ...rule,
    name: 'find-pools',
    rule: 'A requestor that reads a service sees the steps of its visits, and not the Schedules that can take them.',
    needs: ['visitService'],
    request: 'GET /{visitService}',
    expect: [
      status(200),
      that("extension.extension.where(url = 'step').extension.where(url = 'name').exists()"),
      that("extension.extension.extension.where(url = 'schedule').empty()"),
    ],
  }),
  ...(
    [
      ['unknown-parameter', 'A parameter that $find does not have', [service, period, { name: 'colour' }], 400],
      ['without-service', 'A search without a service', [period], 400],
      ['without-period', 'A search without a period', [service], 400],
      [
        'too-many',
        'A search for a thousand visits',
        [service, period, { name: 'count', valuePositiveInt: 1_000 }],
        400,
      ],
      [
        'backwards',
        'A period that ends before it starts',
        [service, { name: 'period', valuePeriod: { start: '{slot.end}', end: '{slot.start}' } }],
        422,
      ],
      [
        'past',
        'A period that is over',
        [service, { name: 'period', valuePeriod: { start: '2020-01-01', end: '2020-01-31' } }],
        422,
      ],
      [
        'ten-years',
        'A period of ten years',
        [service, { name: 'period', valuePeriod: { start: '2090-01-01', end: '2099-12-31' } }],
        422,
      ],
      [
        'unknown-service',
        'A search for a service that does not exist',
        [{ name: 'service', valueReference: { reference: 'HealthcareService/{run}-none' } }, period],
        422,
      ],
      [
        'unknown-step',
        'A step that the visit does not have',
        [service, period, { name: 'step', valueString: '?' }],
        422,
      ],
      [
        'needed-step',
        'A visit without a step that it needs',
        [service, period, { name: 'without', valueString: 'First' }],
        422,
      ],
    ] as const
  ).map(
    ([name, what, parameters, code]): Check => ({
      ...rule,
      name: `find-${name}`,
      rule: `${what} is refused with an OperationOutcome.`,
      steps: [{ ...find(...parameters), expect: [status(code), codedOutcome] }],
    }),
  ),
];
