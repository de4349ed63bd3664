import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { firstSteps } from '../../../scripts/start/first-steps.ts';

const config = resolveConfig({ baseUrl: 'http://localhost:8080/fhir/R4' });
const steps = firstSteps({
  service: 'CT',
  config,
  client: { id: 'portal', secret: 'sealed.key.secret' },
  slot: { reference: 'Slot/1', start: '2027-01-11T09:00:00.000Z', end: '2027-01-11T09:30:00.000Z' },
  schedule: 'Schedule/2',
  patient: "Patient/o'3",
});

/** The words of a command, as a shell passes them to the program. */
const wordsOf = (command: string): string[] =>
  execFileSync('sh', ['-c', command.replace(/^curl/, "printf '%s\\n'")], { env: { ...process.env, TOKEN: 'made-up' } })
    .toString()
    .trimEnd()
    .split('\n');

test('the way goes from discovery to the booking and back', () => {
  expect(steps.map(({ title }) => title)).toEqual([
    'Get an access token; it is valid for an hour',
    'Find the code systems of the services',
    'Find free slots of a schedule',
    'Find free slots for a CT, whatever the schedule',
    'Book a slot',
    'Read the booking back',
  ]);
});

test('a shell passes every value on as it is', () => {
  const words = steps.map(({ command }) => (command.startsWith('curl') ? wordsOf(command) : []));
  expect(words[1]).toContain('Authorization: Bearer made-up');
  expect(words[1]).toContain(
    'context-type-value=https://example.org/fhir/CodeSystem/LocalContextType|ResourceUsage$http://hl7.org/fhir/resource-types|HealthcareService',
  );
  expect(words[4]).toContain('http://localhost:8080/fhir/R4/Appointment/$book');
  expect(words[5]).toContain("patient=Patient/o'3");
});

test('what is booked is a proposed appointment for the slot and the patient', () => {
  const body = wordsOf(steps[4]?.command ?? '').at(-1) ?? '';
  expect(JSON.parse(body)).toMatchObject({
    resourceType: 'Appointment',
    status: 'proposed',
    start: '2027-01-11T09:00:00.000Z',
    slot: [{ reference: 'Slot/1' }],
    participant: [{ actor: { reference: "Patient/o'3" }, status: 'accepted' }],
  });
});

test('the token is taken from the answer of the token endpoint', () => {
  const answer = '{"token_type":"Bearer","access_token":"a.b-c_d","expires_in":3600}';
  const command = `curl() { printf '%s' '${answer}'; }\n${steps[0]?.command}\nprintf '%s' "$TOKEN"`;
  expect(execFileSync('sh', ['-c', command]).toString()).toBe('a.b-c_d');
});
