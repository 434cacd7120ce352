import { Button } from '../ui/button.tsx'

/** Says, below words that were not sent, that somebody else was quicker. */
export function Answered({ onPutAway }: { onPutAway: () => void }) {
  return (
    <div className="flex flex-wrap items-center gap-2.5">
      <p role="status" className="text-[0.8125rem]">
        This is no longer open. Your words were not sent; copy what you still need.
      </p>
      <Button onClick={onPutAway}>Put away</Button>
    </div>
  )
}
