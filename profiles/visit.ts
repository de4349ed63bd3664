import { artefactUri, type BookingConfig } from '../core/config/config.ts';
import type { Profile } from './structure-definition.ts';

/** The extension by which a service asks for several appointments; `readVisit` reads and checks its parts. */
function visit(config: BookingConfig): Profile {
  return {
    artefact: 'LocalVisit',
    type: 'Extension',
    title: 'Visit of several appointments',
    description:
      'What a service needs that takes more than one appointment. step (at most 10): name (string), service ' +
      '(Reference, whose schedules can take it) or schedule (Reference, 1..*), with (what is needed at the same time: ' +
      'service or schedule), duration (Duration), after (string, 0..*: names of steps that must be over), gapMin and ' +
      'gapMax (Duration, since the end of the step before), sameAs (string: a step whose schedule takes this one, too), ' +
      'optional (boolean). Or series: count (positiveInt), every (Duration, whole days), tolerance (Duration), sameActor ' +
      '(boolean). byStep (boolean): whether portals may move and cancel steps one by one; those of a series they always may.',
    context: ['HealthcareService'],
    differential: [
      { id: 'Extension.extension', min: 1 },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalVisit') },
      { id: 'Extension.value[x]', max: '0' },
    ],
  };
}

function visitStep(config: BookingConfig): Profile {
  return {
    artefact: 'LocalVisitStep',
    type: 'Extension',
    title: 'Step of a visit',
    description:
      'Which step of which visit an appointment is: service (Reference, the HealthcareService with LocalVisit), step ' +
      '(string, its name; in a series 1, 2 …), and if it is not at its own time in a series, instead (instant, that time).',
    context: ['Appointment'],
    differential: [
      { id: 'Extension.extension', min: 2 },
      { id: 'Extension.url', fixedUri: artefactUri(config, 'LocalVisitStep') },
      { id: 'Extension.value[x]', max: '0' },
    ],
  };
}

/** The extensions of visits. */
export function visitProfiles(config: BookingConfig): Profile[] {
  return [visit(config), visitStep(config)];
}
