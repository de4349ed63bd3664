import type { ElementDefinition } from '@medplum/fhirtypes';
import type { BookingConfig } from '../core/config/config.ts';
import { type Artefact, artefactUri } from '../core/fhir/artefacts.ts';
import { withCode } from './rules.ts';
import type { Difference } from './snapshot.ts';
import type { Profile } from './structure-definition.ts';

/** An extension has a value of one type, or parts: nested extensions, listed in the description. */
type Extension = Pick<Profile, 'title' | 'description'> & {
  readonly context: readonly string[];
} & (
    | {
        readonly value: string;
        readonly constraint?: ElementDefinition['constraint'];
        readonly more?: readonly Difference[];
      }
    /** Minimum number of parts. */
    | { readonly parts: number }
  );

function table(config: BookingConfig): Partial<Record<Artefact, Extension>> {
  return {
    LocalTerminPriorityExtension: {
      title: 'Priority of an appointment',
      description: `How urgent an appointment is, as a concept of a clinical terminology (${config.terminologySystem}).`,
      context: ['Appointment.priority'],
      value: 'CodeableConcept',
      more: withCode('Extension.value[x]'),
    },
    LocalConfirmation: {
      title: 'Confirmation of bookings',
      description:
        'Whether bookings are confirmed at once (automatic) or by the staff of the repository (manual), for the ' +
        'schedules of a healthcare service or for one schedule.',
      context: ['Schedule', 'HealthcareService'],
      value: 'code',
      constraint: [
        {
          key: 'confirmation-1',
          severity: 'error',
          human: 'The confirmation is automatic or manual',
          expression: "$this is code and ($this = 'automatic' or $this = 'manual')",
        },
      ],
    },
    LocalPublishing: {
      title: 'Publication of opening hours',
      description: 'Whether the opening hours of a schedule are published as free slots; the default is true.',
      context: ['Schedule'],
      value: 'boolean',
    },
    LocalOverbooking: {
      title: 'Overbooking on purpose',
      description: 'Whether clinic staff have deliberately put an appointment on time that is taken.',
      context: ['Appointment'],
      value: 'boolean',
    },
    LocalPortal: {
      title: 'The clinic in the portal',
      description:
        'How the portal for patients presents the clinic: logo (Attachment, PNG, JPEG or WebP with its data), colour (string, ' +
        '#rrggbb), imprint and privacy (url of a page), consent (string, what patients agree to when they book).',
      context: ['Organization'],
      parts: 1,
    },
    LocalSlotOffer: {
      title: 'What a slot offers where nothing takes its time',
      description:
        'Says of a slot that is taken, narrowed or withdrawn what it is a part of: period (Period, the whole time that is ' +
        'offered), lane (string, whose time it takes), serviceType (CodeableConcept), revision (unsignedInt, counts changes of ' +
        'what takes its time that leave the slot as it is), and byHand (boolean, the clinic took it while it was free). Set ' +
        'by the service.',
      context: ['Slot'],
      parts: 1,
    },
    LocalReservation: {
      title: 'Time that is about to be taken',
      description:
        'Time of a schedule that somebody other than the service is about to take: time (Period), until (instant, when it no ' +
        'longer counts unless it is stored), act (string, the resource that is about to be stored), author (string, who stores ' +
        'it), lane (string, the id of the slot from whose lane it is taken; absent: from all), and slot (string, the ids of the ' +
        'slots that belong to it). Set by the service.',
      context: ['Task'],
      parts: 4,
    },
    /**
     * Booking policy of a clinic: when, how far ahead and how often portals may book. `readPolicy` reads its parts, and
     * checks them when they are saved.
     */
    LocalBookingPolicy: {
      title: 'Booking policy',
      description:
        'What portals may book: leadTime, window, cancelUntil, holdFor, longest, confirmWithin, attendanceBy (Duration in s, min, h, d or wk), ' +
        'maxOpenPerPatient, maxPerPortalAndDay (positiveInt); whether and how freed time is offered to those who wait: refill ' +
        '(boolean), refillNotice, offerFor (Duration), quietHours (string, 22:00-07:00). For all schedules of a healthcare service, or for one.',
      context: ['Schedule', 'HealthcareService'],
      parts: 1,
    },
    LocalHeldUntil: {
      title: 'End of a hold',
      description: 'Until when an appointment that is proposed holds its time; set by the service.',
      context: ['Appointment'],
      value: 'instant',
    },
    LocalHoldProlonged: {
      title: 'Prolonged hold',
      description: 'Whether a hold was prolonged, which is done only once; set by the service.',
      context: ['Appointment'],
      value: 'boolean',
    },
    LocalReplacedBy: {
      title: 'Successor of a replaced appointment',
      description: 'The appointment that was booked in place of a cancelled one; set by the service.',
      context: ['Appointment'],
      value: 'Reference',
    },
    LocalOffer: {
      title: 'Offer to one person',
      description:
        'Why the service holds a time for a person: reason (code, waitlist, absence, visit, or assistant if one has asked for it), for (Reference, the waitlist ' +
        'entry and the appointment that the time would replace); set by the service. It stays in what is booked.',
      context: ['Appointment'],
      parts: 1,
    },
    LocalPosition: {
      title: 'Place on the waitlist',
      description:
        'How many wait before this entry for one of its services, and one; in answers of $waitlist, never stored.',
      context: ['Appointment'],
      value: 'positiveInt',
    },
    LocalConfirmationDeadline: {
      title: 'Deadline of a request',
      description: 'Until when the clinic has to confirm an appointment that is pending; set by the service.',
      context: ['Appointment'],
      value: 'instant',
    },
    LocalSubmittedElements: {
      title: 'What the requestor has sent',
      description:
        'What of an appointment its requestor has sent, without content: element (string, its name), participant (Reference, no ' +
        'patient), extension (uri); set by the service. The clinic has set the rest, which a re-submission keeps.',
      context: ['Meta'],
      parts: 1,
    },
    LocalAlternative: {
      title: 'Alternative',
      description:
        'What the caller could book instead of what an issue refuses: slot (Reference, more than one if the time takes ' +
        'several), start and end (instant). The nearest comes first. A whole visit has instead of slot a step for each of ' +
        'its appointments, with name (string), slot, start and end.',
      context: ['OperationOutcome.issue'],
      parts: 3,
    },
    /** A service that consists of several appointments; `readVisit` reads and checks its parts. */
    LocalVisit: {
      title: 'Visit of several appointments',
      description:
        'What a service needs that takes more than one appointment. step (at most 10): name (string), service ' +
        '(Reference, whose schedules can take it) or schedule (Reference, 1..*), with (what is needed at the same time: ' +
        'service or schedule), duration (Duration), after (string, 0..*: names of steps that must be over), gapMin and ' +
        'gapMax (Duration, since the end of the step before), sameAs (string: a step whose schedule takes this one, too), ' +
        'optional (boolean). Or series: count (positiveInt), every (Duration, whole days), tolerance (Duration), sameActor ' +
        '(boolean). byStep (boolean): whether portals may move and cancel steps one by one; those of a series they always may.',
      context: ['HealthcareService'],
      parts: 1,
    },
    LocalVisitStep: {
      title: 'Step of a visit',
      description:
        'Which step of which visit an appointment is: service (Reference, the HealthcareService with LocalVisit), step ' +
        '(string, its name; in a series 1, 2 …), and if it is not at its own time in a series, instead (instant, that time).',
      context: ['Appointment'],
      parts: 2,
    },
    LocalOwnChanges: {
      title: 'Notifications about own changes',
      description: 'Whether a subscriber is also notified of its own changes; the default is false.',
      context: ['Subscription'],
      value: 'boolean',
    },
    LocalMessages: {
      title: 'Messages to people',
      description:
        'Whether the clinic writes to a person about an appointment. In an appointment: a portal leaves the messages to the ' +
        'clinic (true), or nobody is to write (false). In a person: no messages are wanted (false).',
      context: ['Appointment', 'Patient', 'RelatedPerson'],
      value: 'boolean',
    },
    LocalPayerKind: {
      title: 'Payer kind',
      description:
        'Who pays (LocalPayerKinds). In a healthcare service or a slot: which kinds are served there; one that names none ' +
        'serves all. In an appointment: that of its patient, once.',
      context: ['HealthcareService', 'Slot', 'Appointment'],
      value: 'Coding',
      more: [
        { id: 'Extension.value[x].system', min: 1 },
        { id: 'Extension.value[x].code', min: 1 },
      ],
    },
  };
}

function differenceOf(extension: Extension, url: string): Difference[] {
  const [root, fixed, value] = ['Extension.extension', { id: 'Extension.url', fixedUri: url }, 'Extension.value[x]'];
  if ('parts' in extension) {
    return [{ id: root, min: extension.parts }, fixed, { id: value, max: '0' }];
  }
  const { value: code, constraint, more = [] } = extension;
  return [
    { id: root, max: '0' },
    fixed,
    { id: value, min: 1, type: [{ code }], ...(constraint && { constraint }) },
    ...more,
  ];
}

export const extensions = (config: BookingConfig): Profile[] =>
  Object.entries(table(config)).map(([name, extension]) => {
    const artefact = name as Artefact;
    const { title, description, context } = extension;
    const differential = differenceOf(extension, artefactUri(config, artefact));
    return { artefact, type: 'Extension', title, description, context, differential };
  });
