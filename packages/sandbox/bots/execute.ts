import type vm from 'node:vm';
import { normalizeErrorString, normalizeOperationOutcome } from '@medplum/core';
import type { Binary, Bot } from '@medplum/fhirtypes';
import type { Tokens } from '../auth/tokens.ts';
import type { BotRequest, BotResult } from '../platform.ts';
import { resourceOf, type UnitOfWork } from '../storage/unit-of-work.ts';
import { compileBot, runBot } from './context.ts';

interface BotHost {
  readonly unit: Pick<UnitOfWork, 'find'>;
  readonly tokens: Tokens;
  baseUrl(): string;
}

const tokenLifetime = 3600;

function failure(logResult: string): BotResult {
  return { success: false, logResult };
}

/** The project's reasons not to run a Bot, in Medplum's words. */
function refusal(host: BotHost, bot: Bot): string | undefined {
  if (!resourceOf(host.unit, 'Project', bot.meta?.project)?.features?.includes('bots')) {
    return 'Bots not enabled';
  }
  if (bot.runtimeVersion !== 'vmcontext') {
    return 'Unsupported bot runtime';
  }
  return bot.executableCode?.url?.startsWith('Binary/') === false ? 'Executable code is not a Binary' : undefined;
}

/** Creates the function that runs Bots. The code of a Bot is compiled once per version of its Binary. */
export function createBotExecutor(host: BotHost): (request: BotRequest) => Promise<BotResult> {
  const scripts = new WeakMap<Binary, vm.Script>();

  function scriptOf(bot: Bot): vm.Script | undefined {
    const binary = resourceOf(host.unit, 'Binary', bot.executableCode?.url?.slice('Binary/'.length));
    if (!binary?.data) {
      return undefined;
    }
    const known = scripts.get(binary);
    const script =
      known ?? compileBot(Buffer.from(binary.data, 'base64').toString('utf8'), `Bot/${bot.name ?? bot.id}.js`);
    scripts.set(binary, script);
    return script;
  }

  function tokenFor({ runAs }: BotRequest): string {
    const profile = runAs.profile.reference ?? '';
    const sub = profile.slice(profile.indexOf('/') + 1);
    return host.tokens.issue({ login_id: runAs.id, sub, profile, scope: 'openid' }, tokenLifetime);
  }

  return async (request) => {
    const reason = refusal(host, request.bot);
    if (reason) {
      return failure(reason);
    }
    try {
      const script = scriptOf(request.bot);
      const settings = resourceOf(host.unit, 'Project', request.bot.meta?.project)?.secret ?? [];
      const secrets = Object.fromEntries(settings.map((setting) => [setting.name, setting]));
      const run = { ...request, accessToken: tokenFor(request), baseUrl: host.baseUrl(), secrets };
      return script ? await runBot({ ...run, script }) : failure('No executable code');
    } catch (error) {
      return { success: false, logResult: normalizeErrorString(error), returnValue: normalizeOperationOutcome(error) };
    }
  };
}
