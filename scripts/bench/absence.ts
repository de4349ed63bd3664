import type { Appointment, Slot } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import { type Planning, planAbsence } from '../../core/booking/absence/plan.ts';
import { artefactUri, type BookingConfig } from '../../core/config/config.ts';
import { loadConfig } from '../cli/load-config.ts';
import { formatTable } from '../cli/table.ts';

const [HALF_HOUR, HOUR, DAY] = [1_800_000, 3_600_000, 86_400_000];

/** Half hours of a day's work. */
const A_DAY = 16;

const serviceType = [{ coding: [{ system: 'urn:bench', code: 'visit' }] }];

/** How many appointments, of how many who are absent, and how many may step in. */
const sizes = [
  { appointments: 300, absent: 1, substitutes: 4 },
  { appointments: 300, absent: 3, substitutes: 4 },
  { appointments: 2_000, absent: 20, substitutes: 15 },
] as const;

type Size = (typeof sizes)[number];

const instant = (time: number): string => new Date(time).toISOString();

/** An absence of full days; for four weeks after it, about half of the time of all is free. */
function planningOf({ appointments, absent, substitutes }: Size, now: number, config: BookingConfig): Planning {
  const each = Math.ceil(appointments / absent);
  const days = Math.ceil(each / A_DAY);
  const at = (day: number, index: number): number => now + day * DAY + 2 * HOUR + index * HALF_HOUR;
  const ids = (prefix: string, count: number): string[] =>
    Array.from({ length: count }, (_, index) => `${prefix}${index}`);
  const [own, others] = [ids('absent-', absent), ids('substitute-', substitutes)];
  const slotAt = (schedule: string, time: number, status: Slot['status']): Slot => ({
    resourceType: 'Slot',
    id: `${schedule}-${time}`,
    schedule: { reference: `Schedule/${schedule}` },
    serviceType,
    status,
    start: instant(time),
    end: instant(time + HALF_HOUR),
    identifier: [{ system: artefactUri(config, 'LocalSlotOrigin'), value: `${schedule}-${time}` }],
  });
  const taken = own.flatMap((schedule) =>
    Array.from({ length: each }, (_, index) => slotAt(schedule, at(Math.floor(index / A_DAY), index % A_DAY), 'busy')),
  );
  const affected = taken.slice(0, appointments).map(
    ({ id, start, end }, index): Appointment => ({
      resourceType: 'Appointment',
      id: `appointment-${index}`,
      status: 'booked',
      serviceType,
      start,
      end,
      slot: [{ reference: `Slot/${id}` }],
      // One in ten has two.
      participant: [{ actor: { reference: `Patient/${index % Math.ceil(appointments * 0.9)}` }, status: 'accepted' }],
    }),
  );
  const free = [...own, ...others].flatMap((schedule, person) =>
    Array.from({ length: (days + 28) * A_DAY }, (_, index) => [Math.floor(index / A_DAY), index % A_DAY] as const)
      .filter(([day]) => person >= absent || day >= days)
      .filter(([day, index]) => Math.sin(day * 31 + index * 7 + person) > 0.2)
      .map(([day, index]) => slotAt(schedule, at(day, index), 'free')),
  );
  return {
    affected,
    taken,
    absent: own.map((schedule) => ({ schedule, start: now, end: now + days * DAY })),
    schedules: [...own, ...others].map((id) => ({
      schedule: { resourceType: 'Schedule', id, active: true, serviceType, actor: [] },
      services: [],
    })),
    substitutes: others,
    free,
    others: [],
    now,
  };
}

/** The command line: how long plans for absences take. */
export function define(command: Command): void {
  command
    .description('Measures how long it takes to plan what becomes of the appointments of an absence.')
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .action(main);
}

function main({ config: file }: { readonly config?: string }): void {
  const config = loadConfig(file);
  const now = Math.floor(Date.now() / DAY) * DAY;
  const rows = sizes.map((size) => {
    const planning = planningOf(size, now, config);
    const [begin, before] = [performance.now(), process.cpuUsage()];
    const placed = planAbsence(planning, config).filter(Boolean).length;
    const { user, system } = process.cpuUsage(before);
    const took = [performance.now() - begin, (user + system) / 1_000].map((time) => (time / 1_000).toFixed(1));
    return [size.appointments, size.absent, size.substitutes, planning.free.length, placed, ...took].map(String);
  });
  console.log(
    formatTable(['appointments', 'absent', 'may step in', 'free times', 'placed', 'seconds', 'of a core'], rows),
  );
}
