import { asking, type Check, fromStage6, type RequestStep } from '../check.ts';
import { type Expectation, findsOnly, has, leadsTo, refusal, resource, status, success, that } from '../expectation.ts';
import { proposal, staffPatch, subscription } from '../preparation/bodies.ts';
import { inManual } from './booking/common.ts';

const PATIENCE = 60;

/** Steps that create a Subscription and wait until it is active. */
const subscribe = (topic: string): readonly RequestStep[] => [
  { request: 'POST /Subscription', body: subscription(topic), keep: 'subscription', expect: [status(201)] },
  { request: 'GET /{subscription}', within: PATIENCE, expect: [status(200), that("status = 'active'")] },
];

const requested: RequestStep = {
  request: 'POST /Appointment/$book',
  body: proposal(inManual),
  keep: 'appointment',
  expect: [status(202), that("status = 'pending'")],
};

const booked: RequestStep = {
  request: 'POST /Appointment/$book',
  body: proposal(),
  keep: 'appointment',
  expect: [success],
};

const ofThis = `parameter.where(name = 'subscription').value.${leadsTo('{subscription}')}`;

const event = {
  notification: 'the notification',
  within: PATIENCE,
  expect: [
    that("type = 'history'"),
    that(`entry[0].resource.where(${ofThis}).exists()`),
    that("entry[0].resource.parameter.where(name = 'type').value = 'event-notification'"),
    that("entry[0].resource.parameter.where(name = 'topic').value = '{subscription.criteria}'"),
    that("entry[0].resource.parameter.where(name = 'notification-event').part.where(name = 'event-number').exists()"),
    that(
      `entry[0].resource.parameter.where(name = 'notification-event').part.where(name = 'focus').value.where(${leadsTo('{appointment}')}).exists()`,
    ),
  ],
} as const;

const byStaff = (path: string, value: string, op: 'replace' | 'add' = 'replace'): RequestStep => ({
  by: 'staff',
  request: 'PATCH /{appointment}',
  ...staffPatch(op, path, value),
  expect: [success],
});

/** A change by the repository of which a subscriber is notified. */
interface NotifiedEvent {
  readonly name: string;
  readonly rule: string;
  readonly section: string;
  readonly topic: 'appointment-update' | 'appointment-cancel';
  readonly made: typeof booked | typeof requested;
  readonly change: RequestStep;
  readonly stages?: Check['stages'];
  readonly more?: readonly Expectation[];
}

const told: readonly NotifiedEvent[] = [
  {
    name: 'event-confirmed',
    rule: 'A subscriber is told when the repository confirms a pending Appointment.',
    section: 'Specification 6 and 3',
    topic: 'appointment-update',
    made: requested,
    change: byStaff('/status', 'booked'),
  },
  {
    name: 'event-declined',
    rule: 'A subscriber is told when the repository cancels a pending Appointment.',
    section: 'Specification 6 and 3',
    topic: 'appointment-update',
    made: requested,
    change: byStaff('/status', 'cancelled'),
  },
  {
    name: 'event-changed',
    rule: 'A subscriber is told of a change that the repository makes.',
    section: 'Specification 6',
    topic: 'appointment-update',
    made: booked,
    change: byStaff('/comment', 'Please come to the second floor'),
  },
  {
    name: 'event-cancelled',
    rule: 'A subscriber to the topic of cancellations is told when the repository cancels.',
    section: 'ISiK Terminplanung, SubscriptionTopic appointment-cancel',
    topic: 'appointment-cancel',
    made: booked,
    change: byStaff('/status', 'cancelled'),
    stages: fromStage6,
    more: [
      that('id.exists() and entry[0].resource.id.exists()'),
      that("entry.resource.ofType(Parameters).parameter.where(name = 'status').value = 'active'"),
      that("entry[0].resource.parameter.where(name = 'notification-event').part.where(name = 'timestamp').exists()"),
    ],
  },
];

const toldCheck = ({ name, rule, section, topic, made, change, stages, more = [] }: NotifiedEvent): Check => ({
  name,
  rule,
  section,
  ...(stages && { stages }),
  needs: ['listener', 'staff', made === requested ? 'manualSlot' : 'slot', 'patient'],
  steps: [...subscribe(topic), made, change, { ...event, expect: [...event.expect, ...more] }],
});

const ROLE = 'ISiK Terminplanung, ISiKCapabilityStatementTerminSubscriptionRolle';

/** Searches for a Subscription, and a FHIRPath expression that holds for all matches. */
const searches: readonly (readonly [by: string, query: string, all: string])[] = [
  ['id', '_id={subscription.id}', "id = '{subscription.id}'"],
  ['status', 'status=active&_count=100', "status = 'active'"],
  ['criteria', 'criteria={subscription.criteria}&_count=100', "criteria = '{subscription.criteria}'"],
  ['url', 'url={listener.url}&_count=100', "channel.endpoint = '{listener.url}'"],
  [
    'last-updated',
    '_id={subscription.id}&_lastUpdated=ge{subscription.meta.lastUpdated.date}',
    "id = '{subscription.id}'",
  ],
];

const searchCheck = ([by, query, all]: (typeof searches)[number]): Check => ({
  name: `subscription-search-by-${by}`,
  rule: `A subscriber finds its Subscriptions by ${by.replaceAll('-', ' ')}, and nothing that does not match.`,
  section: ROLE,
  stages: fromStage6,
  needs: ['listener', 'patient'],
  steps: [
    ...subscribe('appointment-update'),
    { request: `GET /Subscription?${query}`, expect: [...findsOnly('Subscription', all), has('{subscription}')] },
  ],
});

/** Subscriptions and notifications (specification 6). */
export const eventChecks: readonly Check[] = [
  {
    name: 'subscription-handshake',
    rule: 'A Subscription to the topic of updates is accepted, its endpoint is greeted, and it becomes active.',
    section: 'Specification 6; Subscriptions R5 Backport, handshake',
    needs: ['listener', 'patient'],
    steps: [
      {
        request: 'POST /Subscription',
        body: subscription('appointment-update'),
        keep: 'subscription',
        expect: [status(201), resource('Subscription'), that("status = 'requested' or status = 'active'")],
      },
      {
        notification: 'the handshake',
        within: PATIENCE,
        expect: [
          that("type = 'history'"),
          that(`entry[0].resource.where(${ofThis}).exists()`),
          that("entry[0].resource.parameter.where(name = 'type').value = 'handshake'"),
        ],
      },
      { request: 'GET /{subscription}', within: PATIENCE, expect: [status(200), that("status = 'active'")] },
    ],
  },
  ...told.map(toldCheck),
  {
    name: 'event-later-visible',
    rule: 'What the repository has changed is found by a read, whether the reader was told of it or not.',
    section: 'Specification 4.7',
    needs: ['staff', 'manualSlot', 'patient'],
    steps: [
      requested,
      byStaff('/status', 'booked'),
      { request: 'GET /{appointment}', within: 10, expect: [status(200), that("status = 'booked'")] },
    ],
  },
  asking({
    name: 'subscription-unknown-topic',
    rule: 'A Subscription to a topic that does not exist is refused.',
    section: 'Subscriptions R5 Backport, creating',
    needs: ['listener', 'patient'],
    request: 'POST /Subscription',
    body: subscription('appointment-update', { criteria: 'https://example.org/fhir/SubscriptionTopic/none' }),
    expect: [refusal, resource('OperationOutcome')],
  }),
  ...searches.map(searchCheck),
  {
    name: 'subscription-update',
    rule: 'A subscriber can change its Subscription.',
    section: ROLE,
    stages: fromStage6,
    needs: ['listener', 'patient'],
    steps: [
      ...subscribe('appointment-update'),
      {
        request: 'PUT /{subscription}',
        body: subscription('appointment-cancel', { id: '{subscription.id}', reason: 'Changed' }),
        expect: [success],
      },
      { request: 'GET /{subscription}', expect: [status(200), that("reason = 'Changed'")] },
    ],
  },
  {
    name: 'subscription-status',
    rule: '$status returns the state of a Subscription.',
    section: 'ISiK Terminplanung; Subscriptions R5 Backport, $status',
    stages: fromStage6,
    needs: ['listener', 'patient'],
    steps: [
      ...subscribe('appointment-update'),
      {
        request: 'GET /{subscription}/$status',
        expect: [
          status(200),
          that("type = 'searchset'"),
          that("entry.resource.parameter.where(name = 'status').value = 'active'"),
        ],
      },
    ],
  },
  {
    name: 'subscription-events',
    rule: '$events returns past events again.',
    section: 'ISiK Terminplanung; Subscriptions R5 Backport, $events',
    stages: fromStage6,
    needs: ['listener', 'staff', 'slot', 'patient'],
    steps: [
      ...subscribe('appointment-update'),
      booked,
      byStaff('/comment', 'Please come to the second floor'),
      event,
      {
        request: 'GET /{subscription}/$events',
        expect: [status(200), that("entry[0].resource.parameter.where(name = 'type').value = 'query-event'")],
      },
    ],
  },
  {
    name: 'subscription-end',
    rule: 'A subscriber can end its Subscription.',
    section: 'Subscriptions R5 Backport, ending',
    needs: ['listener', 'patient'],
    steps: [
      ...subscribe('appointment-update'),
      { request: 'DELETE /{subscription}', expect: [success] },
      { request: 'GET /{subscription}', expect: [status(404, 410)] },
    ],
  },
];
