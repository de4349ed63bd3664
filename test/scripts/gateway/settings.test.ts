import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import {
  aliasesFrom,
  auditFrom,
  corsOriginsFrom,
  limitsFrom,
  limitVariables,
  logLevelFrom,
  metricsFrom,
  proxiesFrom,
  sealingFrom,
} from '../../../scripts/gateway/settings.ts';

describe('the settings of the gateway', () => {
  test('limits are those that are set', () => {
    expect(limitsFrom({ LIMIT_REQUESTS_PER_CLIENT: '10', LIMIT_WEBSOCKETS: '', PATH: '1' })).toEqual({
      requestsPerMinute: 10,
    });
  });

  test.each(['0', '-1', 'many', '1.5', '1e999'])('a limit of %s is refused, by its name', (text) => {
    expect(() => limitsFrom({ LIMIT_WEBSOCKETS: text })).toThrow('LIMIT_WEBSOCKETS must be a whole number');
  });

  test.each<[string | undefined, number | string[]]>([
    [undefined, 0],
    ['', 0],
    ['false', 0],
    ['true', 1],
    ['2', 2],
    ['10.0.0.0/8, loopback', ['10.0.0.0/8', 'loopback']],
  ])('TRUST_PROXY=%s', (text, expected) => {
    expect(proxiesFrom({ TRUST_PROXY: text })).toEqual(expected);
  });

  test.each(['yes', '10.0.0.0/99', '-1'])('TRUST_PROXY=%s is refused', (text) => {
    expect(() => proxiesFrom({ TRUST_PROXY: text })).toThrow('TRUST_PROXY must be a number of proxies');
  });

  test('metrics are served on a port that is set, on loopback unless said otherwise', () => {
    expect(metricsFrom({})).toBeUndefined();
    expect(metricsFrom({ METRICS_PORT: '9464' })).toEqual({ port: 9464, host: '127.0.0.1' });
    expect(() => metricsFrom({ METRICS_PORT: '70000' })).toThrow('METRICS_PORT');
  });

  test('the origins that may call from a browser, from CORS_ORIGINS: none by default', () => {
    expect(corsOriginsFrom({})).toEqual([]);
    const text = 'https://portal.example.org, http://localhost:3000';
    expect(corsOriginsFrom({ CORS_ORIGINS: text })).toEqual(['https://portal.example.org', 'http://localhost:3000']);
    for (const wrong of ['*', 'portal.example.org', 'https://portal.example.org/', 'https://portal.example.org/app']) {
      expect(() => corsOriginsFrom({ CORS_ORIGINS: wrong })).toThrow('CORS_ORIGINS must list origins');
    }
  });

  test('a setting that is empty is one that is not made; one that cannot be used is named', () => {
    expect([aliasesFrom({ MEDPLUM_ALIASES: '' }), logLevelFrom({ LOG_LEVEL: '' }, 'info')]).toEqual([[], 'info']);
    expect(aliasesFrom({ MEDPLUM_ALIASES: 'http://a:1/, https://b' })).toEqual(['http://a:1/', 'https://b']);
    expect(() => aliasesFrom({ MEDPLUM_ALIASES: 'medplum:8103' })).toThrow('MEDPLUM_ALIASES must list addresses');
    expect(() => logLevelFrom({ LOG_LEVEL: 'verbose' }, 'info')).toThrow(/LOG_LEVEL must be one of .*silent/);
  });

  test('accesses are recorded where that is said', () => {
    expect([undefined, '', 'none', 'log'].map((text) => auditFrom({ AUDIT: text }))).toEqual([
      false,
      false,
      false,
      true,
    ]);
    expect(() => auditFrom({ AUDIT: 'yes' })).toThrow('AUDIT must be log or none');
  });

  test('credentials are sealed', () => {
    const CREDENTIALS_KEY = Buffer.alloc(32).toString('base64');
    expect(sealingFrom({ CREDENTIALS_KEY }).unsealed).toBe('refused');
    expect(() => sealingFrom({})).toThrow(/^Set CREDENTIALS_KEY/);
    expect(() => sealingFrom({ CREDENTIALS_KEY: 'short' })).toThrow(/CREDENTIALS_KEY cannot be used.*openssl rand/);
  });

  test('are all in the page for operators', () => {
    const page = readFileSync('docs/operators.md', 'utf8');
    const others = ['TRUST_PROXY', 'METRICS_PORT', 'METRICS_HOST', 'AUDIT', 'CREDENTIALS_KEY'];
    expect([...Object.keys(limitVariables), ...others].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});
