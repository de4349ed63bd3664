import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';
import { base, tokenOf } from '../installation.ts';

it('absolute URLs are built from the configured base address, never from request headers', async () => {
  const authorization = `Bearer ${await tokenOf('portal-a')}`;
  const headers = {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    forwarded: 'host=evil.example',
    authorization,
  };
  const body = await new Promise<string>((resolve, reject) => {
    get(`${base}/Slot?_count=2`, { headers }, (response) => resolve(text(response))).once('error', reject);
  });
  expect(body).not.toContain('evil.example');
  const { link, entry } = JSON.parse(body) as { link: { url: string }[]; entry: { fullUrl: string }[] };
  const urls = [...link.map(({ url }) => url), ...entry.map(({ fullUrl }) => fullUrl)];
  expect(urls.length).toBeGreaterThan(2);
  expect(urls.filter((url) => !url.startsWith(`${base}/Slot`))).toEqual([]);
});
