import type { Scenario } from '../scenario.ts';
import { patient } from './resources.ts';

const json = { 'content-type': 'application/json-patch+json' };

/** JSON Patch (RFC 6902). */
export const jsonPatch: Scenario = async ({ admin: { send }, unique }) => {
  const created = await send('POST Patient', patient(unique, { active: true }));
  const path = `PATCH Patient/${created.id}`;
  const patches: readonly unknown[] = [
    [{ op: 'replace', path: '/active', value: false }],
    [{ op: 'test', path: '/active', value: false }],
    [{ op: 'test', path: '/active', value: true }],
    [
      { op: 'test', path: '/active', value: false },
      { op: 'add', path: '/name/0/given/-', value: 'Maria' },
      { op: 'copy', from: '/name/0', path: '/name/1' },
      { op: 'move', from: '/name/0/family', path: '/name/0/text' },
    ],
    [{ op: 'remove', path: '/name/1' }],
    [{ op: 'remove', path: '/name/7' }],
    [{ op: 'remove', path: '/photo' }],
    [{ op: 'replace', path: '/photo/0/title', value: 'x' }],
    [{ op: 'add', path: '/colour', value: 'red' }],
    [{ op: 'replace', path: '/id', value: 'x' }],
    [{ op: 'replace', path: '/resourceType', value: 'Practitioner' }],
    [{ op: 'turn', path: '/active' }],
    [{ op: 'add', path: 'active', value: true }],
    [],
    {},
    '{',
  ];
  for (const patch of patches) {
    await send(path, patch, json);
  }
  const gender = [{ op: 'add', path: '/gender', value: 'female' }];
  await send(path, gender, { ...json, 'if-match': 'W/"other"' });
  await send(path, gender, { 'content-type': 'application/fhir+json' });
  await send(path, gender, { 'content-type': 'application/json' });
  await send('PATCH Patient/unknown', gender, json);
  await send(`GET Patient/${created.id}`);
};

const part = (name: string, value: Readonly<Record<string, unknown>>) => ({ name, ...value });

const operation = (type: string, path: string, ...others: readonly object[]) => ({
  name: 'operation',
  part: [part('type', { valueCode: type }), part('path', { valueString: path }), ...others],
});

const parameters = (...parameter: readonly object[]) => ({ resourceType: 'Parameters', parameter });

/** FHIRPath Patch (R4, http.html#patch). */
export const fhirPathPatch: Scenario = async ({ admin: { send }, unique }) => {
  const created = await send('POST Patient', patient(unique, { active: true }));
  const value = (given: object) => part('value', { ...given });
  const name = (given: string) => part('name', { valueString: given });
  const index = (given: number, label = 'index') => part(label, { valueInteger: given });
  const patches: readonly unknown[] = [
    parameters(operation('replace', 'Patient.active', value({ valueBoolean: false }))),
    parameters(operation('add', 'Patient', name('gender'), value({ valueCode: 'female' }))),
    parameters(operation('add', 'Patient', name('gender'), value({ valueCode: 'male' }))),
    parameters(operation('delete', 'Patient.name.first().given[0]')),
    parameters(operation('delete', 'Patient.photo')),
    parameters(operation('delete', "Patient.name.where(family = 'Nobody')")),
    parameters(operation('replace', 'Patient.photo[0].title', value({ valueString: 'x' }))),
    parameters(operation('add', 'Patient', name('colour'), value({ valueString: 'red' }))),
    parameters(operation('turn', 'Patient.active')),
    parameters(operation('replace', 'Patient.active')),
    parameters(operation('replace', '((', value({ valueBoolean: true }))),
    parameters(
      operation(
        'add',
        'Patient',
        name('telecom'),
        part('value', {
          part: [part('system', { valueCode: 'phone' }), part('value', { valueString: '030 1' })],
        }),
      ),
    ),
    parameters(),
    { resourceType: 'Patient' },
    parameters(
      operation(
        'insert',
        'Patient.telecom',
        index(0),
        value({ valueContactPoint: { system: 'email', value: 'a@example.com' } }),
      ),
    ),
    parameters(operation('move', 'Patient.telecom', index(0, 'source'), index(1, 'destination'))),
    parameters(operation('insert', 'Patient.name[0].given', index(0), value({ valueString: 'Maria' }))),
    parameters(operation('move', 'Patient.name[0].given', index(0, 'source'), index(1, 'destination'))),
  ];
  for (const patch of patches) {
    await send(`PATCH Patient/${created.id}`, patch);
  }
  await send(`GET Patient/${created.id}`);
};

/** Places in a list that an element of another list holds. */
export const fhirPathPatchOfInnerLists: Scenario = async ({ admin: { send }, unique }) => {
  const given = parameters(
    operation(
      'insert',
      'Patient.name[0].given',
      part('index', { valueInteger: 0 }),
      part('value', { valueString: 'Maria' }),
    ),
  );
  const first = await send('POST Patient', patient(unique));
  await send(`PATCH Patient/${first.id}`, given);
  const second = await send('POST Patient', patient(unique, { name: [{ given: ['Anna', 'Maria'] }] }));
  const [source, destination] = [part('source', { valueInteger: 0 }), part('destination', { valueInteger: 1 })];
  await send(`PATCH Patient/${second.id}`, parameters(operation('move', 'Patient.name[0].given', source, destination)));
};
