import { describe, expect, test } from '@jest/globals';
import type { Issue } from '../../../../core/fhir/outcome/outcome.ts';
import { isUnknownParameter, readFilter } from '../../../../gateway/search/parameters/filter.ts';
import { isIssue } from '../../../../gateway/search/parameters/param.ts';
import type { ServedTypeName } from '../../../../gateway/served-types.ts';

const base = 'https://booking.example.org/fhir/R4';

const read = (type: ServedTypeName, name: string, value = 'x') => readFilter(type, { name, value }, base);

function issueOf(type: ServedTypeName, name: string): Issue {
  const found = read(type, name);
  if (!isIssue(found)) {
    throw new Error(`${name} is accepted`);
  }
  return found;
}

describe('a parameter that is not known', () => {
  const schedule = 'service-category, service-type, specialty, active, actor, date, identifier';
  const slot = 'service-category, service-type, specialty, appointment-type, identifier, schedule, start, status';

  test.each([
    ['colour', `Slot cannot be searched by 'colour'. Supported: ${slot}.`],
    ['colour:not', `Slot cannot be searched by 'colour'. Supported: ${slot}.`],
    ['colour.name', `Slot cannot be searched by 'colour'. Supported: ${slot}.`],
    ['status.name', `Slot cannot be searched by 'status'. Supported: ${slot}.`],
    ['_has:Appointment:slot:status', `Slot cannot be searched by '_has'. Supported: ${slot}.`],
    ['schedule.colour', `Schedule cannot be searched by 'colour'. Supported: ${schedule}.`],
    ['schedule.date.name', `Schedule cannot be searched by 'date'. Supported: ${schedule}.`],
    ['schedule.', `Schedule cannot be searched by ''. Supported: ${schedule}.`],
    [':not', `Slot cannot be searched by ''. Supported: ${slot}.`],
    ['.status', `Slot cannot be searched by ''. Supported: ${slot}.`],
    ['', `Slot cannot be searched by ''. Supported: ${slot}.`],
  ])('%j: the client reads what is supported', (name, diagnostics) => {
    const issue = issueOf('Slot', name);
    expect(issue).toMatchObject({ code: 'malformed-request', diagnostics, expression: `http.${name}` });
    expect(isUnknownParameter(issue)).toBe(true);
  });
});

describe('a parameter that is known, but cannot be used like this', () => {
  const actors = 'Patient, Practitioner, PractitionerRole, HealthcareService, Location';

  test.each<[ServedTypeName, string, string]>([
    ['Slot', 'schedule.actor.name', `'actor' can refer to ${actors}: name one of them after a colon.`],
    ['Slot', 'schedule.actor:Device.type', `'actor' can refer to ${actors}: name one of them after a colon.`],
    ['Slot', 'schedule.actor:.name', `'actor' can refer to ${actors}: name one of them after a colon.`],
    ['Slot', 'schedule.actor:Location:x.name', `'actor' can refer to ${actors}: name one of them after a colon.`],
    ['Slot', 'schedule:Patient.active', "'schedule' can refer to Schedule: name one of them after a colon."],
    ['Slot', 'status:below', "'status' does not support the modifier 'below'. Supported: not, missing, text."],
    ['Slot', 'status:', "'status' does not support the modifier ''. Supported: not, missing, text."],
    ['Slot', 'status:not:x', "'status' does not support the modifier 'not:x'. Supported: not, missing, text."],
    ['Slot', 'status:Slot', "'status' does not support the modifier 'Slot'. Supported: not, missing, text."],
    ['Slot', 'schedule:Patient', "'schedule' does not support the modifier 'Patient'. Supported: missing, identifier."],
    ['Slot', 'schedule:Bot', "'schedule' does not support the modifier 'Bot'. Supported: missing, identifier."],
    [
      'CodeSystem',
      'context-type-value:not',
      "'context-type-value' does not support the modifier 'not'. Supported: none.",
    ],
    ['CodeSystem', 'supplements.context-type-value', "'context-type-value' cannot be the last parameter of a chain."],
    ['Patient', 'link.link.link.link.family', 'A chain can have at most 3 links.'],
  ])('%s?%s', (type, name, diagnostics) => {
    const issue = issueOf(type, name);
    expect(issue).toEqual({ code: 'malformed-request', diagnostics, expression: `http.${name}` });
    expect(isUnknownParameter(issue)).toBe(false);
  });

  test('a value that is wrong is reported by the whole name', () => {
    const sent = { name: 'patient.family', value: ',' };
    expect(readFilter('Appointment', sent, base)).toMatchObject({ expression: 'http.patient.family' });
  });
});

describe('a reference', () => {
  test.each<[ServedTypeName, string, string, string]>([
    ['Schedule', 'actor=1', 'actor', 'Patient/1,Practitioner/1,PractitionerRole/1,HealthcareService/1,Location/1'],
    [
      'Schedule',
      'actor=Location/1,b',
      'actor',
      'Location/1,Patient/b,Practitioner/b,PractitionerRole/b,HealthcareService/b,Location/b',
    ],
    ['Schedule', 'actor:Practitioner=1,Practitioner/2', 'actor', 'Practitioner/1,Practitioner/2'],
    ['Slot', `schedule=${base}/Schedule/1`, 'schedule', 'Schedule/1'],
    ['Slot', 'schedule=Schedule/1/_history/2', 'schedule', 'Schedule/1'],
    ['Slot', 'schedule=Schedule/1/x', 'schedule', 'Schedule/1/x'],
    ['Slot', 'schedule=Device/1', 'schedule', 'Device/1'],
    ['Slot', 'schedule=no id', 'schedule', 'no id'],
    ['Slot', 'schedule=urn:uuid:1\\,2', 'schedule', 'urn:uuid:1\\,2'],
    ['Slot', 'schedule:missing=true', 'schedule:missing', 'true'],
    ['Slot', 'schedule:identifier=1', 'schedule:identifier', '1'],
    ['Encounter', 'account=Account/1,2,Patient/3', 'account', 'Account/1,Account/2,Patient/3'],
    ['HealthcareService', 'type:missing=true', 'service-type:missing', 'true'],
    ['Slot', 'status:text=|x', 'status:text', '|x'],
    ['Slot', 'status:missing=|true', 'status:missing', '|true'],
    ['Slot', 'status:not=|free', 'status:not', 'free'],
    ['Slot', 'identifier=|free', 'identifier', '|free'],
    ['Patient', 'identifier=a,,b', 'identifier', 'a,,b'],
    ['HealthcareService', 'name:missing=true,', 'name:missing', 'true,'],
  ])('%s?%s', (type, sent, name, value) => {
    const [sentName = '', sentValue = ''] = sent.split('=', 2);
    expect(read(type, sentName, sentValue)).toMatchObject({ name, value });
  });
});

describe('a chain', () => {
  test('has its links and its end', () => {
    const end = { name: 'service-type', value: 'ct', entry: { type: 'token', upstreamName: 'service-type' } };
    expect(read('Slot', 'schedule.actor:HealthcareService.type', 'ct')).toEqual({
      ...end,
      name: 'schedule.actor:HealthcareService.service-type',
      chain: {
        links: [
          { name: 'schedule', text: 'schedule', target: 'Schedule' },
          { name: 'actor', text: 'actor:HealthcareService', target: 'HealthcareService' },
        ],
        end,
      },
    });
  });

  test('can name the type of a reference that has only one', () => {
    expect(read('Slot', 'schedule:Schedule.active', 'true')).toMatchObject({
      name: 'schedule:Schedule.active',
      chain: { links: [{ name: 'schedule', text: 'schedule:Schedule', target: 'Schedule' }] },
    });
  });

  test('can have three links', () => {
    expect(read('Patient', 'link.link.link.family', 'a')).toMatchObject({ name: 'link.link.link.family', value: 'a' });
  });

  test('is none, where the name has no dot', () => {
    expect(read('Slot', 'status', 'free')).not.toHaveProperty('chain');
  });
});
