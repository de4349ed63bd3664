/** The program of the service: one command for each task of operators and developers. */
import { Command } from 'commander';
import { runAsProgram } from './cli/command.ts';

/** A module that defines the options of its command, and runs it. */
interface CommandFile {
  readonly define: (command: Command) => void;
}

/** The commands, by their names in package.json. Only the module of the called one is loaded. */
const commands: Readonly<Record<string, () => Promise<CommandFile>>> = {
  start: () => import('./start.ts'),
  bootstrap: () => import('./bootstrap.ts'),
  deploy: () => import('./deploy.ts'),
  demo: () => import('./demo.ts'),
  gateway: () => import('./gateway.ts'),
  'gateway:client': () => import('./gateway-client.ts'),
  'front-desk': () => import('./front-desk.ts'),
  requestor: () => import('./requestor.ts'),
  calendar: () => import('./calendar.ts'),
  doctor: () => import('./doctor.ts'),
  'check:consistency': () => import('./consistency/check.ts'),
  messages: () => import('./messages.ts'),
  metrics: () => import('./metrics.ts'),
  retention: () => import('./retention.ts'),
  person: () => import('./person.ts'),
  conformance: () => import('./conformance.ts'),
  audit: () => import('./audit.ts'),
  bench: () => import('./bench.ts'),
  build: () => import('./build/bots.ts'),
  'build:web': () => import('./build/web.ts'),
  generate: () => import('./generate.ts'),
};

/** Lists of commands show the first sentence of each description. */
const help = { subcommandDescription: (command: Command) => command.description().split('. ')[0] ?? '' };

/** A missing or unknown command name lists all commands. */
async function main(): Promise<void> {
  const [name = '', ...words] = process.argv.slice(2);
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (load) {
    const command = new Command(`npm run ${name} --`).configureHelp(help);
    (await load()).define(command);
    await command.parseAsync(words, { from: 'user' });
    return;
  }
  const program = new Command('node scripts/booking.ts').configureHelp(help).showHelpAfterError();
  for (const [known, loadKnown] of Object.entries(commands)) {
    (await loadKnown()).define(program.command(known));
  }
  await program.parseAsync();
}

await runAsProgram(import.meta.url, main);
