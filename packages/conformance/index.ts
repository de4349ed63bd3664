export { type Adapter, acts, adapters } from './attack/adapters.ts';
export { type Attack, attack, type Findings as AttackFindings, isTestServer, kinds } from './attack/attack.ts';
export { rules } from './attack/check-history.ts';
export { hasEvents } from './attack/notified.ts';
export { resultOf, violationTable } from './attack/violation-table.ts';
export { audit, type Finding } from './audit/audit.ts';
export { readHistories, readTerms } from './audit/read.ts';
export { type Check, type Stage, type Step, stageOf } from './check.ts';
export { allChecks } from './checks/all.ts';
export { type Client, clientOf } from './client.ts';
export { type Listener, listen } from './listener.ts';
export { logIn } from './login.ts';
export { type Need, needs } from './preparation/needs.ts';
export type { Given } from './preparation/prepare.ts';
export { count, describeCheck, jsonReport, junitReport, tableReport } from './report.ts';
export {
  beginExamination,
  checksOf,
  type Examination,
  type Findings,
  NEUROLOGY,
  type Result,
  runChecks,
} from './run.ts';
export { serviceTypeToBook } from './service-type.ts';
