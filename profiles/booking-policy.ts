import { artefactUri, type BookingConfig } from '../core/config/config.ts';
import type { Profile } from './structure-definition.ts';

/**
 * The extension by which a clinic says when, how far ahead and how often portals may book. `readPolicy` reads its parts,
 * and checks them where they are saved.
 */
function bookingPolicy(config: BookingConfig): Profile {
  return {
    artefact: 'LocalBookingPolicy',
    type: 'Extension',
    title: 'Booking policy',
    description:
      'What portals may book: leadTime, window, cancelUntil, holdFor, longest, confirmWithin, attendanceBy (Duration in s, min, h, d or wk), ' +
      'maxOpenPerPatient, maxPerPortalAndDay (positiveInt); whether and how freed time is offered to those who wait: refill ' +
      '(boolean), refillNotice, offerFor (Duration), quietHours (string, 22:00-07:00); until when times are asked for that are drawn then: drawUntil (instant). For all schedules of a healthcare service, or for one.',
    context: ['Schedule', 'HealthcareService'],
    differential: [
      { id: 'Extension.extension', min: 1 },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalBookingPolicy') },
      { id: 'Extension.value[x]', max: '0' },
    ],
  };
}

function heldUntil(config: BookingConfig): Profile {
  return {
    artefact: 'LocalHeldUntil',
    type: 'Extension',
    title: 'End of a hold',
    description: 'Until when an appointment that is proposed holds its time; set by the service.',
    context: ['Appointment'],
    differential: [
      { id: 'Extension.extension', max: '0' },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalHeldUntil') },
      { id: 'Extension.value[x]', min: 1, type: [{ code: 'instant' }] },
    ],
  };
}

function holdProlonged(config: BookingConfig): Profile {
  return {
    artefact: 'LocalHoldProlonged',
    type: 'Extension',
    title: 'Prolonged hold',
    description: 'Whether a hold was prolonged, which is done only once; set by the service.',
    context: ['Appointment'],
    differential: [
      { id: 'Extension.extension', max: '0' },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalHoldProlonged') },
      { id: 'Extension.value[x]', min: 1, type: [{ code: 'boolean' }] },
    ],
  };
}

function offer(config: BookingConfig): Profile {
  return {
    artefact: 'LocalOffer',
    type: 'Extension',
    title: 'Offer to one person',
    description:
      'Why the service holds a time for a person: reason (code, waitlist, absence, visit, or consent if an assistant has asked for it), for (Reference, the waitlist ' +
      'entry and the appointment that the time would replace); set by the service. It stays in what is booked.',
    context: ['Appointment'],
    differential: [
      { id: 'Extension.extension', min: 1 },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalOffer') },
      { id: 'Extension.value[x]', max: '0' },
    ],
  };
}

function place(config: BookingConfig): Profile {
  return {
    artefact: 'LocalPlace',
    type: 'Extension',
    title: 'Place on the waitlist',
    description:
      'How many wait before this entry for one of its services, and one; in answers of $waitlist, never stored.',
    context: ['Appointment'],
    differential: [
      { id: 'Extension.extension', max: '0' },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalPlace') },
      { id: 'Extension.value[x]', min: 1, type: [{ code: 'positiveInt' }] },
    ],
  };
}

function confirmationDeadline(config: BookingConfig): Profile {
  return {
    artefact: 'LocalConfirmationDeadline',
    type: 'Extension',
    title: 'Deadline of a request',
    description: 'Until when the clinic has to confirm an appointment that is pending; set by the service.',
    context: ['Appointment'],
    differential: [
      { id: 'Extension.extension', max: '0' },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalConfirmationDeadline') },
      { id: 'Extension.value[x]', min: 1, type: [{ code: 'instant' }] },
    ],
  };
}

function submitted(config: BookingConfig): Profile {
  return {
    artefact: 'LocalSubmitted',
    type: 'Extension',
    title: 'What the requestor has sent',
    description:
      'What of an appointment its requestor has sent, without content: element (string, its name), participant (Reference, no ' +
      'patient), extension (uri); set by the service. The clinic has set the rest, which a re-submission keeps.',
    context: ['Meta'],
    differential: [
      { id: 'Extension.extension', min: 1 },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalSubmitted') },
      { id: 'Extension.value[x]', max: '0' },
    ],
  };
}

function alternative(config: BookingConfig): Profile {
  return {
    artefact: 'LocalAlternative',
    type: 'Extension',
    title: 'Alternative',
    description:
      'What the caller could book instead of what an issue refuses: slot (Reference, more than one if the time takes ' +
      'several), start and end (instant). The nearest comes first. A whole visit has instead of slot a step for each of ' +
      'its appointments, with name (string), slot, start and end.',
    context: ['OperationOutcome.issue'],
    differential: [
      { id: 'Extension.extension', min: 3 },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalAlternative') },
      { id: 'Extension.value[x]', max: '0' },
    ],
  };
}

/** The extensions of booking policies, holds, offers, the waitlist, requests and refusals. */
export function policyProfiles(config: BookingConfig): Profile[] {
  return [
    bookingPolicy(config),
    heldUntil(config),
    holdProlonged(config),
    offer(config),
    place(config),
    confirmationDeadline(config),
    submitted(config),
    alternative(config),
  ];
}
