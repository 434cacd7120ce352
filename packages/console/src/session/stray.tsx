import { Button } from '../ui/button.tsx'

/** Says that the words in the box were begun for something else, and lets a person send them all the same. */
export function Stray({ asks, onKeep }: { asks: boolean; onKeep: () => void }) {
  return (
    <div className="flex flex-wrap items-center gap-2.5 rounded-lg border border-warning-line bg-warning-soft px-3 py-2 text-[0.8125rem]">
      <p role="status" className="min-w-0 flex-1">
        {asks
          ? 'The agent asks something now. Your words were begun before.'
          : 'That is no longer open. Your words were not sent.'}
      </p>
      <Button
        onClick={event => {
          onKeep()
          event.currentTarget.form?.querySelector('textarea')?.focus()
        }}
      >
        {asks ? 'Use them as the answer' : 'Keep them as a message'}
      </Button>
    </div>
  )
}
