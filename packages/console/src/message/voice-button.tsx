import { Mic, Square } from 'lucide-react'
import type { Verdict } from '../session/session-can.ts'
import { Button } from '../ui/button.tsx'
import { InlineProblem } from '../ui/states.tsx'
import { useRecorder } from './use-recorder.ts'

/** Returns whether speech can be recorded here. */
function verdictOf(offered: boolean): Verdict {
  if (!offered) return { allowed: false, reason: 'This service cannot write down speech. Its operator can set it up.' }
  if (navigator.mediaDevices === undefined || !('MediaRecorder' in globalThis)) {
    return { allowed: false, reason: 'Browsers record only on pages that are served over https.' }
  }
  return { allowed: true }
}

/** Records speech, and hands over its text. */
export function VoiceButton(props: { offered: boolean; onText: (text: string) => void; compact?: boolean }) {
  const { offered, onText, compact = false } = props
  const voice = useRecorder(onText)
  const label = voice.recording ? 'Stop and write it down' : voice.busy ? 'Writing it down…' : 'Speak'
  return (
    <>
      <Button
        variant="quiet"
        hint="above"
        verdict={verdictOf(offered)}
        busy={voice.busy}
        aria-pressed={voice.recording}
        onClick={voice.toggle}
        className={compact ? 'h-9 px-2.5' : ''}
        {...(compact && { title: label })}
      >
        {voice.recording ? (
          <Square className="size-3.5 fill-bad text-bad" aria-hidden />
        ) : (
          <Mic className="size-4" aria-hidden />
        )}
        <span className={compact ? 'sr-only' : ''}>{label}</span>
      </Button>
      {voice.refused && (
        <p role="alert" className="text-xs text-bad">
          The browser gave no microphone. Allow it for this page, then try again.
        </p>
      )}
      <InlineProblem error={voice.error} />
    </>
  )
}
