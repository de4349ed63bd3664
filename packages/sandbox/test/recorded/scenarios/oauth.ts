import type { Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';
import { referenceIn } from './resources.ts';

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const encode = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString();
const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

/** Client credentials, in the body and in the header; refusals; who the holder of a token is. */
export const tokens: Scenario = async (stage) => {
  const { nobody } = stage;
  const client = await stage.member('client', [{ resourceType: 'Slot', interaction: ['read', 'search'] }]);
  const credentials = { client_id: client.id, client_secret: client.secret };
  const grant = { grant_type: 'client_credentials' };
  const bodies: readonly Readonly<Record<string, string>>[] = [
    { ...grant, ...credentials },
    { ...grant, ...credentials, scope: 'openid' },
    { ...grant, ...credentials, scope: 'system/*.read' },
    { ...grant, client_id: client.id },
    { ...grant, client_secret: client.secret },
    { ...grant, ...credentials, client_secret: 'wrong' },
    { ...grant, ...credentials, client_id: 'wrong' },
    { ...grant, ...credentials, client_id: '00000000-0000-4000-8000-000000000000' },
    { ...credentials },
    { ...credentials, grant_type: 'magic' },
    {},
  ];
  for (const body of bodies) {
    await nobody.send('POST /oauth2/token', encode(body), form);
  }
  await nobody.send('POST /oauth2/token', { ...grant, ...credentials }, { 'content-type': 'application/json' });
  const authorizations = [basic(client.id, client.secret), basic(client.id, 'wrong'), 'Bearer x', 'Basic'];
  for (const authorization of authorizations) {
    const headers = { ...form, authorization };
    await nobody.send('POST /oauth2/token', encode(grant), headers);
  }
  await client.send('GET /auth/me');
  await client.send('GET Slot?_count=0');
  await membershipLost(stage);
  await nobody.send('GET /auth/me');
  await nobody.send('GET Slot?_count=0', undefined, { authorization: basic(client.id, client.secret) });
  await nobody.send('GET Slot?_count=0', undefined, { authorization: basic(client.id, 'wrong') });
};

/** Tokens that were given before the member, its client, or both were deleted. */
async function membershipLost(stage: Stage): Promise<void> {
  const { send } = stage.admin;
  for (const gone of ['membership', 'client', 'both']) {
    const { id, send: sendAsClient } = await stage.member(gone, [{ resourceType: 'Slot', interaction: ['search'] }]);
    const found = await send(`GET ProjectMembership?profile=ClientApplication/${id}`);
    if (gone !== 'client') {
      await send(`DELETE ${referenceIn(found, 'ProjectMembership')}`);
    }
    if (gone !== 'membership') {
      await send(`DELETE ClientApplication/${id}`);
    }
    await sendAsClient('GET Slot?_count=0');
    await sendAsClient('GET /auth/me');
  }
}
