import { describe, expect, it } from '@jest/globals';
import { pathProblem } from '../../../core/booking/patch/fhirpath-subset.ts';

describe('the FHIRPath of a patch', () => {
  it.each([
    'Appointment',
    'status',
    'Appointment.participant[0].actor',
    "Appointment.participant.where(actor.reference = 'Patient/1' and status != 'declined').first().status",
    "Appointment.extension('https://example.org/x').value",
    "Appointment.identifier.where(value.startsWith('it\\'s'))",
    'Appointment.participant.where($this.actor.exists().not())',
  ])('%s may be evaluated', (path) => {
    expect(pathProblem(path)).toBeUndefined();
  });

  it.each([
    ['', /1 to 500/],
    ['a'.repeat(501), /1 to 500/],
    ['('.repeat(400), /deeper/],
    ['Appointment.where(status', /do not match/],
    ['Appointment)', /must match/],
    ["Appointment.where(status = 'x)", /cannot be read/],
    ['Appointment.slot.resolve()', /resolve\(\) is not available/],
    ['Appointment.slot.resolve ()', /resolve\(\) is not available/],
    ['Appointment.descendants()', /descendants\(\) is not available/],
    ['Appointment.repeat($this)', /repeat\(\) is not available/],
    ["Appointment.where(status.matches('(a+)+'))", /matches\(\) is not available/],
    ['Appointment.status | Appointment.start', /cannot be read/],
    ['%resource.status', /cannot be read/],
    ['Appointment.participant[-1]', /cannot be read/],
    ['Appointment.participant[99999999999]', /cannot be read/],
    ['Appointment.__proto__', /no element/],
    ['Appointment.constructor', /no element/],
  ])('%.40s is refused', (path, problem) => {
    expect(pathProblem(path)).toMatch(problem);
  });
});
