export { reportJunit } from './junit.ts'
export { describeChecks, isConforming, reportJson, reportText } from './report.ts'
export { type Run, type RunOptions, runConformance } from './run.ts'
export { Unusable } from './unusable.ts'
