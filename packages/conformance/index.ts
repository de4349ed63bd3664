/** The face of the kit: checks as data, and what carries them out and reports. */
export type { Check, Stage, Step } from './check.ts';
export { allChecks } from './checks/all.ts';
export { type Client, clientOf } from './client.ts';
export { type Listener, listen } from './listener.ts';
export { logIn } from './login.ts';
export { type Need, needs } from './preparation/needs.ts';
export type { Given } from './preparation/prepare.ts';
export { jsonReport } from './report/json.ts';
export { junitReport } from './report/junit.ts';
export { describeCheck } from './report/list.ts';
export { count } from './report/summary.ts';
export { tableReport } from './report/table.ts';
export { beginExamination, checksOf, type Examination, type Findings, type Result, runChecks } from './run.ts';
export { offeredServiceType } from './service-type.ts';
export { stageOf } from './stage.ts';
