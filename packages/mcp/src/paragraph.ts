import type { Lane, Row, RowChange, ToolStep } from '@berth/client/transcript'
import { clip } from './text.ts'

/** Enough to see how a command has ended. */
const OUTPUT_CHARACTERS_MOST = 600
const PROMPT_CHARACTERS_MOST = 500

/** Returns a paragraph that tells a model of a changed row; empty if it adds nothing. Reasoning is left out. */
export function paragraphOf({ row, steps }: RowChange): string {
  const calls = steps.flatMap(step => (step.kind === 'tool' && step.durationMs !== null ? [callText(step)] : []))
  if (calls.length > 0) return calls.join('\n\n')
  return rowText(row, steps.length === 0)
}

function rowText(row: Row, isEnd: boolean): string {
  switch (row.kind) {
    case 'prompt':
      return `[asked] ${clip(row.text.trim(), PROMPT_CHARACTERS_MOST)}`
    case 'reply':
      return row.text.trim()
    case 'steps':
      return isEnd && row.lane !== undefined ? laneText(row.lane) : ''
    case 'interaction':
      return row.status === 'open' ? `[waits for an answer] ${row.interactionId}` : ''
    case 'artifact':
      return `[file] ${row.name}`
    case 'notice': {
      if (row.ongoing === true) return ''
      const head = `[note] ${row.text}${row.link === undefined ? '' : ` ${row.link.url}`}`
      return row.detail === undefined ? head : `${head}\n${clip(row.detail.trim(), OUTPUT_CHARACTERS_MOST)}`
    }
    case 'end': {
      const cause = row.errorCode ?? row.stopReason
      const output = row.output === undefined ? '' : `\n\`\`\`json\n${JSON.stringify(row.output)}\n\`\`\``
      return `[run ${row.outcome}]${cause === null ? '' : ` ${cause}`}${output}`
    }
    default:
      return ''
  }
}

function laneText({ task, outcome, summary }: Lane): string {
  if (outcome === null) return `[sub-agent started] ${clip(task.trim(), PROMPT_CHARACTERS_MOST)}`
  return `[sub-agent ${outcome}] ${summary}`.trim()
}

function callText({ title, status, output = '' }: ToolStep): string {
  const head = `[tool] ${title}${status === 'failed' ? ' (failed)' : ''}`
  return output.trim() === '' ? head : `${head}\n${clip(output.trim(), OUTPUT_CHARACTERS_MOST)}`
}
