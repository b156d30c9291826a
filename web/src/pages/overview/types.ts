/** What `GET /v1/overview` answers. */

export interface Forecast {
  begin: string;
  span_ms: number;
  overdue: number;
  due: number[];
  complete: boolean;
}

export interface HistogramBin {
  at: string;
  statuses: Record<string, number>;
  late_p50_ms: number | null;
  late_p99_ms: number | null;
}

export interface RunHistogram {
  since: string;
  span_ms: number;
  beats: HistogramBin[];
  runs: number;
  success_rate: number | null;
  late_p50_ms: number | null;
  late_p99_ms: number | null;
  complete: boolean;
}

export interface Quota {
  name: string;
  used: number;
  limit: number | null;
  share: number | null;
  level: "ok" | "near" | "nearer" | "spent";
}

export interface Planner {
  planner: string;
  sittings: number;
  failed: number;
  shadow: number;
  tokens: number;
  last_at: string;
}

export interface Overview {
  now: string;
  endpoints: number;
  in_flight: number;
  forecast: Forecast;
  pulse: RunHistogram;
  quotas: Quota[];
  quota_resets_at: string;
  planners: Planner[];
}
