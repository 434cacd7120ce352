import { Button } from '../ui/button.tsx'

/** Says, below an answer that was not sent, that the request was closed before. */
export function Answered({ onPutAway }: { onPutAway: () => void }) {
  return (
    <div className="flex flex-wrap items-center gap-2.5">
      <p role="status" className="text-[0.8125rem]">
        This is no longer open. Your answer was not sent.
      </p>
      <Button onClick={onPutAway}>Dismiss</Button>
    </div>
  )
}
