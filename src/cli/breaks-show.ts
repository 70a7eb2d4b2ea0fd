import type { Command } from 'commander';
export function addShowCommand(_breaks: Command): void {}
