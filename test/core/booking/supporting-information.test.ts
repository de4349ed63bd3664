import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { contains, withoutConsequences } from '../../../core/booking/issues.ts';
import { answersReferredTo } from '../../../core/booking/supporting-information.ts';
import { config } from './support.ts';

describe('the answers that an appointment refers to', () => {
  const referred = (supportingInformation: unknown, path?: string) =>
    answersReferredTo({ supportingInformation } as Appointment, config.baseUrl, path);

  it('are those of this service, with the path of each reference', () => {
    const list = [
      { reference: 'QuestionnaireResponse/a' },
      { reference: 'Patient/b' },
      null,
      { reference: `${config.baseUrl}/QuestionnaireResponse/c` },
      { reference: 'https://other.example/QuestionnaireResponse/d' },
    ];
    expect(referred(list)).toEqual([
      { id: 'a', path: 'Appointment.supportingInformation[0]' },
      { id: 'c', path: 'Appointment.supportingInformation[3]' },
    ]);
    expect(referred(list, 'Parameters.parameter[0].resource')[0]?.path).toBe(
      'Parameters.parameter[0].resource.supportingInformation[0]',
    );
    expect([referred(undefined), referred({ 0: list[0] })]).toEqual([[], []]);
  });
});

describe('of issues', () => {
  const at = (expression?: string) => ({
    code: 'malformed-request' as const,
    diagnostics: '',
    ...(expression && { expression }),
  });

  it('an element contains what is below it, and itself', () => {
    const inside = [
      'Appointment.slot',
      'Appointment.slot[0]',
      'Appointment.slot.reference',
      'Appointment.slots',
      'Appointment',
    ];
    expect(inside.filter((path) => contains('Appointment.slot', path))).toEqual(inside.slice(0, 3));
  });

  it('those about what could not be read, or what holds it, are left out', () => {
    const all = [at('Appointment.slot[0].reference'), at('Appointment.slot'), at('Appointment.start'), at()];
    expect(withoutConsequences(all, ['Appointment.slot[0]'])).toEqual([all[2], all[3]]);
    expect(withoutConsequences(all, ['Appointment.slot', 'Appointment.start'])).toEqual([all[3]]);
    expect(withoutConsequences(all)).toEqual(all);
  });
});
