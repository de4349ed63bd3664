import { describe, expect, it } from '@jest/globals';
import { pathProblem } from '../../../../core/booking/patch/fhirpath-patch.ts';

describe('the FHIRPath of a patch', () => {
  it.each([
    'Appointment',
    'status',
    'Appointment.participant[0].actor',
    "Appointment.participant.where(actor.reference = 'Patient/1' and status != 'declined').first().status",
    "Appointment.extension('https://example.org/x').value",
    "Appointment.identifier.where(value.startsWith('it\\'s'))",
    'Appointment.participant.where($this.actor.exists().not())',
    'Appointment.slot.skip(1).tail().take(2).last()',
    "Appointment.extension.value.ofType(string).where($this.endsWith('x')).single()",
    'Appointment.participant.where(actor.empty() and type.count() = 1)',
    "Appointment.participant.where((status = 'accepted') or (status = 'declined') and required = 'x')[0]",
  ])('%s may be evaluated', (path) => {
    expect(pathProblem(path)).toBeUndefined();
  });

  it.each([
    ['', /1 to 500/],
    ['a'.repeat(501), /1 to 500/],
    ['('.repeat(400), /levels deep/],
    ['Appointment.where(status', /must match/],
    ['Appointment)', /must match/],
    ["Appointment.where(status = 'x)", /is invalid from/],
    ['Appointment.slot.resolve()', /resolve\(\) is not supported/],
    ['Appointment.slot.resolve ()', /resolve\(\) is not supported/],
    ['Appointment.descendants()', /descendants\(\) is not supported/],
    ['Appointment.repeat($this)', /repeat\(\) is not supported/],
    ["Appointment.where(status.matches('(a+)+'))", /matches\(\) is not supported/],
    ['Appointment.status | Appointment.start', /is invalid from/],
    ['%resource.status', /is invalid from/],
    ['Appointment.status comment', /from character 19 on/],
    ["Appointment.status 'x'", /from character 19 on/],
    ['Appointment.participant[0] 1', /from character 27 on/],
    ['Appointment.exists() (status)', /from character 21 on/],
    ['Appointment.where(status comment)', /from character 25 on/],
    ['Appointment.participant[-1]', /is invalid from/],
    ['Appointment.participant[99999999999]', /is invalid from/],
    ['Appointment.__proto__', /not an element/],
    ['Appointment.constructor', /not an element/],
  ])('%.40s is refused', (path, problem) => {
    expect(pathProblem(path)).toMatch(problem);
  });
});
