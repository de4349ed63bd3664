import { expect, it } from '@jest/globals';
import { roleOf } from '../../../core/booking/policy/caller-rights.ts';
import { accessPolicies } from '../../../profiles/access-policies.ts';
import { config } from './support.ts';

const policies = accessPolicies(config);
const policyWith = (entry: object) => ({ resourceType: 'AccessPolicy', resource: [entry] });

it.each([
  ['no policy, as administrators', undefined, 'staff'],
  ['the policy front-desk', policies['front-desk'], 'staff'],
  ['the policy requestor', policies.requestor, 'requestor'],
  ['the policy consumer', policies.consumer, 'requestor'],
  ['everything', policyWith({ resourceType: '*' }), 'staff'],
  ['everything, to be read', policyWith({ resourceType: '*', readonly: true }), 'requestor'],
  ['other types', policyWith({ resourceType: 'Patient' }), 'requestor'],
  ['nothing', {}, 'requestor'],
])('%s: %s', (_, accessPolicy, role) => {
  expect(roleOf({ profile: { resourceType: 'ClientApplication' }, accessPolicy })).toBe(role);
});

it.each([[undefined], [{}], ['x'], [{ accessPolicy: undefined }]])('nobody: %j', (me) => {
  expect(roleOf(me)).toBeUndefined();
});
