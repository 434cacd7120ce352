import type { EventDraft } from '../../sessions/log/envelope.ts'
import { nowMs, type RunOf, tellPast } from '../../telemetry/observe.ts'

/** Tells of the tool calls that a committed reading has ended, without their arguments and output. */
export function tellTools(of: RunOf, drafts: readonly EventDraft[]): void {
  for (const { type, data } of drafts) {
    if (type !== 'svc.activity.completed') continue
    const { name, kind, status, durationMs } = data as Record<string, unknown>
    const endedMs = nowMs()
    tellPast(of, 'tool call', {
      beganMs: endedMs - (typeof durationMs === 'number' ? durationMs : 0),
      endedMs,
      attributes: { 'gen_ai.tool.name': String(name), 'berth.tool.kind': String(kind) },
      error: status === 'failed' ? 'tool_failed' : null,
    })
  }
}
