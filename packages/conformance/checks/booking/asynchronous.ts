import type { Check } from '../../check.ts';
import { codedOutcome, header, resource, status, that } from '../../expectation.ts';
import { proposal } from '../../preparation/bodies.ts';
import { bookSlot, isBookedOrPending } from './common.ts';

/** `$book` with `Prefer: respond-async` (specification 4.4). */
export const asynchronousChecks: readonly Check[] = [
  {
    name: 'book-async',
    rule: 'With Prefer: respond-async the answer is 202 with an absolute Content-Location, where the Appointment is found.',
    section: 'Specification 4.4, asynchronous execution',
    needs: ['slot', 'patient'],
    steps: [
      {
        request: 'POST /Appointment/$book',
        headers: { prefer: 'respond-async' },
        body: proposal(),
        keep: 'job',
        expect: [status(202), header('content-location', /^https?:\/\//)],
      },
      {
        request: 'GET {job.header.content-location}',
        within: 60,
        expect: [status(200), resource('Appointment'), isBookedOrPending, that('start.toDateTime() ~ @{slot.start}')],
      },
    ],
  },
  {
    name: 'book-async-failure',
    rule: 'An asynchronous booking that fails is answered with 4xx or 5xx and an OperationOutcome, at once or at its Content-Location.',
    section: 'Specification 4.4 and 7',
    needs: ['slot', 'patient'],
    steps: [
      bookSlot,
      {
        request: 'POST /Appointment/$book',
        headers: { prefer: 'respond-async' },
        body: proposal(),
        keep: 'job',
        expect: [
          {
            says: 'status 202 with a Content-Location, or 4xx or 5xx with an OperationOutcome whose issues have a code',
            holds: (response, data) =>
              response.status === 202
                ? response.header['content-location'] !== undefined
                : response.status >= 400 && codedOutcome.holds(response, data),
          },
        ],
      },
      {
        request: 'GET {job.header.content-location}',
        ifKept: 'job.header.content-location',
        within: 60,
        expect: [{ says: 'status 4xx or 5xx', holds: ({ status: code }) => code >= 400 }, codedOutcome],
      },
    ],
  },
];
