import { describe, expect, it } from '@jest/globals';
import { parseBookRequest } from '../../../../core/booking/book/request/request.ts';
import { told } from '../../../lib/told.ts';
import { appointment, config, parameters, resourceParameter } from '../support.ts';

const issues = (body: unknown): string[] => told(parseBookRequest(body, config).issues);

describe('what a booking may not bring in', () => {
  it('a patient that is contained', () => {
    const contained = [{ resourceType: 'Patient' as const, id: 'p' }];
    const participant = [{ actor: { reference: '#p' }, status: 'accepted' as const }];
    const body = parameters(
      resourceParameter('appt-resource', appointment({ contained, participant })),
      resourceParameter('patient', { resourceType: 'Patient', id: 'p' }),
    );
    expect(issues(body)).toEqual(['malformed-request Parameters.parameter[0].resource.participant[0].actor']);
    expect(issues(appointment({ contained, participant }))).toContain(
      'malformed-request Appointment.participant[0].actor',
    );
  });
});
