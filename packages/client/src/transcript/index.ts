export {
  type AgentState,
  agentStateTypes,
  type BackgroundCommand,
  backgroundIn,
  backgroundLabel,
  extendAgentState,
  type PlanEntry,
  planIn,
  planLabel,
  planProgress,
} from './agent-state.ts'
export { applyOutcome } from './apply-outcome.ts'
export { changesOf, type RowChange } from './changes.ts'
export { numberOf, textOf } from './data.ts'
export { formatBytes, formatDuration, formatElapsed, formatProgress } from './format.ts'
export type {
  ArtifactRow,
  BlockedHost,
  EndRow,
  InteractionRow,
  Lane,
  LiveRow,
  NoticeRow,
  PromptRow,
  ReplyRow,
  Row,
  Step,
  StepsRow,
  Thought,
  ToolStep,
} from './rows.ts'
export { emptyTranscript, extendTranscript, type Transcript } from './transcript.ts'
