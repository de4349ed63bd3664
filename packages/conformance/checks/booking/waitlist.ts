import type { Check, RequestStep } from '../../check.ts';
import { codedOutcome, findsOnly, resource, status, success, that } from '../../expectation.ts';
import { cancellation, participant, proposal, waitlistType } from '../../preparation/bodies.ts';
import { timeOf } from './common.ts';

const WISH = [{ start: '{waitlistSlot.start}', end: '{waitlistSlot.end}' }];

/** An entry as a requestor sends it: for the time of the Slot, which is the only one of its service. */
const entry = (more: object = {}): object => ({
  resourceType: 'Appointment',
  status: 'waitlist',
  serviceType: waitlistType,
  requestedPeriod: WISH,
  participant: [participant('{patient}')],
  ...more,
});

const inWaitlistSlot = { serviceType: waitlistType, ...timeOf('waitlistSlot') };

const place = "extension.where(url = '{uri.LocalPlace}').value";

const join: RequestStep = {
  request: 'POST /Appointment/$waitlist',
  body: entry(),
  keep: 'entry',
  expect: [status(201), resource('Appointment'), that("status = 'waitlist' and slot.empty()"), that(`${place} >= 1`)],
};

/** What may take a moment: that freed time is offered. */
const PATIENCE = 60;

const isOfThis =
  "extension.where(url = '{uri.LocalOffer}').extension.where(url = 'for').value.where(reference = 'Appointment/{entry.id}').exists()";

/** Somebody waits, the time is booked and freed: it is offered to the one who waits. */
const offered: readonly RequestStep[] = [
  { request: 'POST /Appointment/$book', body: proposal(inWaitlistSlot), keep: 'booked', expect: [success] },
  join,
  { request: 'PATCH /{booked}', body: cancellation, expect: [success] },
  {
    request: 'GET /Appointment?status=proposed&patient={patient}&slot={waitlistSlot}',
    within: PATIENCE,
    keep: 'found',
    expect: findsOnly(
      'Appointment',
      `${isOfThis} and extension.where(url = '{uri.LocalHeldUntil}').exists() and start.toDateTime() ~ @{waitlistSlot.start}`,
    ),
  },
];

const offer = 'Appointment/{found.entry.0.resource.id}';

const rule = { level: 'MAY', section: 'docs/portals.md, The waitlist', needs: ['waitlistSlot', 'patient'] } as const;

/** Those who wait, and what is offered to them. */
export const waitlistChecks: readonly Check[] = [
  {
    ...rule,
    name: 'waitlist-join',
    rule: 'Who joins is answered 201 with the place; the entry is found, and left by the status cancelled.',
    steps: [
      join,
      {
        request: 'GET /Appointment?status=waitlist&_id={entry.id}',
        expect: findsOnly('Appointment', `${place}.empty()`),
      },
      {
        request: 'POST /Appointment/$waitlist',
        body: { resourceType: 'Appointment', id: '{entry.id}' },
        expect: [status(200), that("id = '{entry.id}'"), that(`${place} >= 1`)],
      },
      { request: 'PATCH /{entry}', body: cancellation, expect: [status(200), that("status = 'cancelled'")] },
    ],
  },
  ...(
    [
      ['without-service', 'A wish without a service', { serviceType: undefined }, 400],
      [
        'past',
        'A wish for the past',
        { requestedPeriod: [{ start: '2020-01-01T00:00:00Z', end: '2020-01-02T00:00:00Z' }] },
        422,
      ],
      [
        'far',
        'A wish for ten years',
        { requestedPeriod: [{ start: '{waitlistSlot.start}', end: '2099-01-01T00:00:00Z' }] },
        422,
      ],
      ['slot', 'An entry with a Slot', { slot: [{ reference: '{waitlistSlot}' }] }, 400],
      [
        'not-offered',
        'A service without a waitlist',
        { serviceType: [{ coding: [{ system: 'urn:appointment-booking:conformance', code: '{run}-none' }] }] },
        422,
      ],
    ] as const
  ).map(
    ([name, what, more, code]): Check => ({
      ...rule,
      name: `waitlist-${name}`,
      rule: `${what} is refused with an OperationOutcome.`,
      steps: [{ request: 'POST /Appointment/$waitlist', body: entry(more), expect: [status(code), codedOutcome] }],
    }),
  ),
  {
    ...rule,
    name: 'offer-accepted',
    rule: 'Freed time is held for the one who waits; $book with the id of the offer books it, and the entry is over.',
    steps: [
      ...offered,
      {
        request: 'POST /Appointment/$book',
        body: proposal({ ...inWaitlistSlot, id: '{found.entry.0.resource.id}' }),
        expect: [success, that("id = '{found.entry.0.resource.id}' and status = 'booked'")],
      },
      { request: 'GET /{entry}', expect: [status(200), that("status = 'cancelled'")] },
    ],
  },
  {
    ...rule,
    name: 'offer-declined',
    rule: 'An offer is declined by the status cancelled; the person still waits.',
    steps: [
      ...offered,
      { request: `PATCH /${offer}`, body: cancellation, expect: [status(200), that("status = 'cancelled'")] },
      { request: 'GET /{entry}', expect: [status(200), that("status = 'waitlist'")] },
      { request: 'PATCH /{entry}', body: cancellation, expect: [status(200)] },
      { request: 'GET /{waitlistSlot}', within: PATIENCE, expect: [status(200), that("status = 'free'")] },
    ],
  },
];
