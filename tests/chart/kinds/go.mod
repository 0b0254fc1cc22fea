// The modules whose files define the kinds that the chart may use beside Kubernetes' own.
module recallmesh.invalid/kinds

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.20.0
	github.com/kedacore/keda/v2 v2.21.0
	github.com/prometheus-operator/prometheus-operator v0.85.0
	sigs.k8s.io/gateway-api v1.6.3
)
